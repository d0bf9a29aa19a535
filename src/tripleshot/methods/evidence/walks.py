"""Walks of three steps between many pairs at once: head - x - y - tail, over edges in either direction.

Entities with many edges say little: a walk weighs 1 / (edges of x) / (edges of y). Only the two steps from each head
are enumerated; the last one is looked up from the tail.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, MAX_WALKS

TINY = 1e-12  # what rounding leaves where all walks are taken away again

Integers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TwoSteps:
    """How walks begin: head - x - y, with neither x nor y the head itself.

    Attributes:
        owners: shape (m,), which head each first step leaves.
        first: shape (m,), x, the entity that the first step leads to.
        places: shape (n,), which of the m first steps each second step continues.
        second: shape (n,), y, the entity that the second step leads to.
    """

    owners: Integers
    first: Integers
    places: Integers
    second: Integers


class ThreeStepWalks:
    """Finds and weighs the walks between pairs on one graph.

    They pass neither the head nor the tail again, but y may be next to itself. No first step leads to a hub of more
    than `MAX_MIDDLE_DEGREE` edges, and of more than `MAX_WALKS` ways from a head the first are taken.
    """

    def __init__(self, graph: KnowledgeGraph, pairs: PairIndex, profiles: RelationProfiles) -> None:
        """Take what is indexed already."""
        self.graph, self.pairs, self.profiles = graph, pairs, profiles

    def weigh(self, heads: Integers, tails: Integers, hidden: HiddenEdges) -> Weights:
        """Add up the weights of the walks of each pair, shape (n,), as if hidden edges were not in the graph."""
        asked, places = np.unique(heads, return_inverse=True)
        steps = self._two_steps(asked, hidden)
        keys, ways = np.unique(steps.owners[steps.places] * self.graph.num_entities + steps.second, return_inverse=True)
        weights = np.bincount(ways, self._share(steps.first, hidden)[steps.places], minlength=len(keys))
        owners, last = self.pairs.neighbors(tails, hidden)
        by_last = self._share(last, hidden)
        met, found = lookup(keys, places[owners] * self.graph.num_entities + last)
        joined = np.zeros(len(last))
        joined[found] = weights[met[found]] * by_last[found]
        walked = steps.owners * self.graph.num_entities + steps.first
        is_passed = lookup(walked, places * self.graph.num_entities + tails)[1]
        around = np.bincount(owners, by_last * (last != heads[owners]), minlength=len(tails))
        # head - tail - y - tail is among them, but passes the tail before its end
        turned = is_passed * around * self._share(tails, hidden)
        walks = np.bincount(owners, joined, minlength=len(tails)) - turned
        return np.where(walks < TINY, 0.0, walks)

    def heaviest(self, head: int, tail: int) -> tuple[int, int] | None:
        """Return x and y of the walk that weighs most, the one past entities with the fewest edges, if there is any."""
        hidden, degrees = HiddenEdges.none(), self.graph.degrees
        steps = self._two_steps(np.array([head]), hidden)
        _, last = self.pairs.neighbors(np.array([tail]), hidden)
        first, second = steps.first[steps.places], steps.second
        is_walk = (first != tail) & np.isin(second, last)
        if not is_walk.any():
            return None
        first, second = first[is_walk], second[is_walk]
        best = np.argmin(degrees[first] * degrees[second])
        return int(first[best]), int(second[best])

    def _two_steps(self, heads: Integers, hidden: HiddenEdges) -> TwoSteps:
        owners, first = self.pairs.neighbors(heads, hidden)
        degrees = self.graph.degrees[first]
        passable = (degrees <= MAX_MIDDLE_DEGREE) & (first != heads[owners])
        walked = np.concatenate([[0], np.cumsum(degrees * passable)])
        begins = np.searchsorted(owners, np.arange(len(heads)))[owners]
        passable &= walked[1:] - walked[begins] <= MAX_WALKS
        owners, first = owners[passable], first[passable]
        places, second = self.pairs.neighbors(first, hidden)
        kept = second != heads[owners[places]]
        return TwoSteps(owners, first, places[kept], second[kept])

    def _share(self, entities: Integers, hidden: HiddenEdges) -> Weights:
        return 1 / np.maximum(self.profiles.degrees(entities, hidden), 1)
