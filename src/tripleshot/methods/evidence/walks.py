"""Walks of three steps between many pairs at once: head - x - y - tail, over edges in either direction.

Entities with many edges say little: a walk weighs 1 / (edges of x) / (edges of y). Only the two steps from each head
are spelled out; the last one is looked up from the tail.
"""

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.pair_index import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, MAX_WALKS

TINY = 1e-12  # what rounding leaves where all walks are taken away again

Integers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


class ThreeSteps:
    """Weighs the walks between pairs on one graph, with some relation hidden."""

    def __init__(self, graph: KnowledgeGraph, pairs: PairIndex, profiles: RelationProfiles) -> None:
        """Take what is indexed already."""
        self.graph, self.pairs, self.profiles = graph, pairs, profiles

    def weigh(self, heads: Integers, tails: Integers, hidden: HiddenEdges) -> Weights:
        """Add up the walks of each pair; they pass neither the head nor the tail again, but y may be next to itself.

        No first step leads to a hub of more than `MAX_MIDDLE_DEGREE` edges, and of more than `MAX_WALKS` ways from a
        head the first are taken.
        """
        asked, places = np.unique(heads, return_inverse=True)
        keys, weights = self._two_steps(asked, hidden)
        owners, last = self.pairs.neighbors(tails, hidden)
        by_last = self._share(last, hidden)
        there = _look_up(keys, weights, places[owners] * self.graph.num_entities + last) * by_last
        turned = self._turned(heads, tails, owners, last, by_last, hidden)
        walks = np.bincount(owners, there, minlength=len(tails)) - turned
        return np.where(walks < TINY, 0.0, walks)

    def _turned(
        self, heads: Integers, tails: Integers, owners: Integers, last: Integers, by_last: Weights, hidden: HiddenEdges
    ) -> Weights:
        """Weigh the walks head - tail - y - tail, which are none."""
        size = len(tails)
        around = np.bincount(owners, by_last * (last != heads[owners]), minlength=size)
        is_next = np.bincount(owners, last == heads[owners], minlength=size) * (heads != tails)
        return is_next * around * self._share(tails, hidden) * (self.graph.degrees[tails] <= MAX_MIDDLE_DEGREE)

    def _two_steps(self, heads: Integers, hidden: HiddenEdges) -> tuple[Integers, Weights]:
        """Return the entities two steps from each head, as sorted keys, and what the ways there weigh."""
        owners, first = self.pairs.neighbors(heads, hidden)
        degrees = self.graph.degrees[first]
        passable = (degrees <= MAX_MIDDLE_DEGREE) & (first != heads[owners])
        walked = np.concatenate([[0], np.cumsum(degrees * passable)])
        begins = np.searchsorted(owners, np.arange(len(heads)))[owners]
        passable &= walked[1:] - walked[begins] <= MAX_WALKS
        owners, first = owners[passable], first[passable]
        places, second = self.pairs.neighbors(first, hidden)
        kept = second != heads[owners[places]]
        places, second = places[kept], second[kept]
        keys, back = np.unique(owners[places] * self.graph.num_entities + second, return_inverse=True)
        return keys, np.bincount(back, self._share(first, hidden)[places], minlength=len(keys)).astype(np.float64)

    def _share(self, entities: Integers, hidden: HiddenEdges) -> Weights:
        return 1 / np.maximum(self.profiles.degrees(entities, hidden), 1)


def _look_up(keys: Integers, values: Weights, asked: Integers) -> Weights:
    """Return the values of the asked among sorted keys, 0 for those that are not there."""
    if not len(keys):
        return np.zeros(len(asked))
    places, found = lookup(keys, asked)
    return np.where(found, values[places], 0.0)
