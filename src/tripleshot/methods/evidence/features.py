"""What speaks for a tail, in numbers that a network can weigh: links, paths, walks, examples, likeness.

Every number is computed from the background graph and the examples alone, and for a pair by itself: it does not depend
on which other tails are asked about. In training a background relation can be hidden as if it were not in the graph.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray, lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.name_texts import NameTexts
from tripleshot.graph.pair_index import CommonNeighbors, PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.baselines import support_share
from tripleshot.methods.evidence.kinds import EvidenceKinds
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, SMOOTHING, PathRules, PathTypes, walk
from tripleshot.methods.evidence.walks import ThreeSteps

Columns = list[npt.NDArray[Any]]  # numbers and truth values alike


@dataclass(frozen=True, eq=False)
class Examples:
    """What the examples of a relation say, whatever is asked.

    Attributes:
        support: shape (K, 2).
        hidden: edges that are not seen.
        rules: paths that join examples.
        link_shares: shape (2 * num_relations,), the share of examples joined by each relation.
        head_profiles: shape (K, 2 * num_relations); `tail_profiles` likewise.
        circumstances: numbers that are the same for all tails and heads: the first four of `CIRCUMSTANCES`.
    """

    support: npt.NDArray[np.int64]
    hidden: HiddenEdges
    rules: PathRules
    link_shares: npt.NDArray[np.float64]
    head_profiles: npt.NDArray[np.float64]
    tail_profiles: npt.NDArray[np.float64]
    circumstances: npt.NDArray[np.float64]


class EvidenceFeatures:
    """Computes the features of pairs on one graph; `kinds` says what each column is."""

    def __init__(self, graph: KnowledgeGraph, text: bool = False) -> None:
        """Index the graph by pairs, and by the relations of every entity; with text also by what they are called."""
        self.graph = graph
        self.kinds = EvidenceKinds(text)
        self._texts = NameTexts.of(graph.entities) if text else None
        self.pairs = PairIndex(graph)
        self.profiles = RelationProfiles(graph)
        self._three_steps = ThreeSteps(graph, self.pairs, self.profiles)
        self._path_types = PathTypes.of(graph)
        self._commonness = np.log(graph.relation_counts() + 2.0)

    def examples(self, support: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> Examples:
        """Look at the examples of a relation once for all queries."""
        support = np.asarray(support, dtype=np.int64)
        heads, tails = support.T
        num_relations, shots = self.graph.num_relations, len(support)
        owners, relations = self.pairs.links(heads, tails, hidden)
        joined = np.unique(owners * (2 * num_relations) + relations) % max(2 * num_relations, 1)
        common = self.pairs.common(heads, tails, hidden)
        circumstances = [
            len(np.unique(owners)) / shots,
            len(np.unique(common.owners)) / shots,
            len(np.unique(tails)) / shots,
            len(np.unique(heads)) / shots,
        ]
        head_profiles, tail_profiles = (self.profiles.of(ends, hidden).dense(num_relations) for ends in (heads, tails))
        return Examples(
            support,
            hidden,
            self._rules(support, owners, relations, common, hidden),
            np.bincount(joined, minlength=2 * num_relations) / shots,
            head_profiles,
            tail_profiles,
            np.array(circumstances),
        )

    def _rules(
        self,
        support: npt.NDArray[np.int64],
        owners: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        common: CommonNeighbors,
        hidden: HiddenEdges,
    ) -> PathRules:
        """Collect the path types that join examples, and how often each is right on them."""
        through, path_types = self._two_steps(common, hidden)
        found = np.stack(
            [np.concatenate([self._path_types.encode(relations), path_types]), np.concatenate([owners, through])]
        )
        rules, hits = np.unique(np.unique(found, axis=1)[0], return_counts=True)
        walks = [walk(self.graph, head, rules, hidden).path_types for head in support[:, 0].tolist()]
        reached = np.bincount(np.searchsorted(rules, np.concatenate(walks)), minlength=len(rules))
        return PathRules(rules, hits / (reached + SMOOTHING))

    def _two_steps(
        self, common: CommonNeighbors, hidden: HiddenEdges
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the pairs and the path types of all paths through common neighbors that are no hubs."""
        kept = self.graph.degrees[common.middles] <= MAX_MIDDLE_DEGREE
        names = ("owners", "middles", "of_heads", "of_tails")
        common = replace(common, **{name: getattr(common, name)[kept] for name in names})
        owners, first, second = self.pairs.paths(common, hidden)
        return owners, self._path_types.encode(first, second)

    def of(self, examples: Examples, heads: IntArray, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return the features of pairs, shape (n, kinds.size)."""
        heads, tails = np.asarray(heads, dtype=np.int64), np.asarray(tails, dtype=np.int64)
        owners, relations = self.pairs.links(heads, tails, examples.hidden)
        common = self.pairs.common(heads, tails, examples.hidden)
        columns = [
            *self._links(examples, heads, owners, relations),
            *self._paths(examples, len(heads), owners, relations, common),
            *self._common(examples, len(heads), common),
            *self._walks(examples, heads, tails),
            *self._support(examples, heads, tails),
            *self._names(examples, heads, tails),
            *self._circumstances(examples, heads),
        ]
        return np.stack(columns, axis=1).astype(np.float32)

    def _links(
        self,
        examples: Examples,
        heads: npt.NDArray[np.int64],
        owners: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
    ) -> Columns:
        size, share = len(heads), examples.circumstances[0]
        counts = np.bincount(owners, minlength=size)
        is_linked = counts > 0
        kinds = [
            examples.link_shares[relations],
            1 / np.maximum(self.profiles.count(heads[owners], relations), 1),
            1 / self._commonness[self.graph.base(relations)],
        ]
        best = [_largest(owners, kind, size) for kind in kinds]
        return [is_linked, np.log1p(counts), *best, is_linked * share, is_linked * (share == 0)]

    def _paths(
        self,
        examples: Examples,
        size: int,
        owners: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        common: CommonNeighbors,
    ) -> Columns:
        rules = examples.rules
        if not len(rules.path_types):
            return [np.zeros(size), np.zeros(size)]
        through, path_types = self._two_steps(common, examples.hidden)
        path_types = np.concatenate([self._path_types.encode(relations), path_types])
        pairs = np.concatenate([owners, through])
        places, kept = lookup(rules.path_types, path_types)
        once = np.unique(pairs[kept] * len(rules.path_types) + places[kept])
        joined, places = np.divmod(once, len(rules.path_types))
        earned = np.bincount(joined, rules.weights[places], minlength=size)
        return [np.log1p(earned), earned > 0]

    def _common(self, examples: Examples, size: int, common: CommonNeighbors) -> Columns:
        weights = self._weigh(common, examples.hidden, size)
        return [weights > 0, np.log1p(10 * weights), (weights > 0) * examples.circumstances[1]]

    def _weigh(self, common: CommonNeighbors, hidden: HiddenEdges, size: int) -> npt.NDArray[np.float64]:
        """Add up the common neighbors of each pair; one with many edges says little."""
        degrees = self.profiles.degrees(common.middles, hidden)
        return np.bincount(common.owners, 1 / np.maximum(degrees, 1), minlength=size).astype(np.float64)

    def _walks(self, examples: Examples, heads: npt.NDArray[np.int64], tails: npt.NDArray[np.int64]) -> Columns:
        weights = self._three_steps.weigh(heads, tails, examples.hidden)
        degrees = np.maximum(self.profiles.degrees(tails, examples.hidden), 1)
        return [weights > 0, np.log1p(100 * weights), np.log1p(100 * weights / np.sqrt(degrees))]

    def _support(self, examples: Examples, heads: npt.NDArray[np.int64], tails: npt.NDArray[np.int64]) -> Columns:
        """Compare with the examples: their tails, and how alike their heads are to the one asked about."""
        hidden = examples.hidden
        asked, places = np.unique(heads, return_inverse=True)
        alike = self.profiles.of(asked, hidden).similarity(examples.head_profiles)[places]
        near = self._common_with(asked, examples.support[:, 0], hidden)[places]
        share, is_same = support_share(examples.support, tails), examples.support[:, 1] == tails[:, None]
        has_head = (examples.support[:, 0] == heads[:, None]).any(axis=1)
        differing = examples.circumstances[2]
        candidates, back = np.unique(tails, return_inverse=True)
        likeness = self.profiles.of(candidates, hidden).similarity(examples.tail_profiles)[back]
        shared = self._common_with(candidates, examples.support[:, 1], hidden)[back]
        degrees = self.profiles.degrees(tails, hidden)
        transferred = (shared * alike).max(axis=1, initial=0)
        return [
            share,
            share > 0,
            share * differing,
            (share > 0) * (1 - differing),
            share * has_head,
            (is_same * alike).max(axis=1, initial=0),
            (is_same * near).max(axis=1, initial=0),
            (examples.support[:, 0] == tails[:, None]).any(axis=1),
            likeness.mean(axis=1),
            likeness.max(axis=1, initial=0),
            np.log1p(10 * shared.mean(axis=1) / np.sqrt(np.maximum(degrees, 1))),
            (shared > 0).mean(axis=1),
            transferred > 0,
            np.log1p(10 * transferred),
        ]

    def _names(self, examples: Examples, heads: npt.NDArray[np.int64], tails: npt.NDArray[np.int64]) -> Columns:
        """Compare what the pair is called with what examples are called."""
        texts = self._texts
        if texts is None:
            return []
        of_heads, of_tails = (
            np.stack([texts.likeness(np.full(len(ends), known), ends) for known in examples.support[:, end]], axis=1)
            for end, ends in enumerate((heads, tails))
        )
        transferred = (of_heads * of_tails).max(axis=1, initial=0)
        return [texts.likeness(heads, tails), of_tails.max(axis=1, initial=0), of_tails.mean(axis=1), transferred]

    def _common_with(
        self, entities: npt.NDArray[np.int64], others: npt.NDArray[np.int64], hidden: HiddenEdges
    ) -> npt.NDArray[np.float64]:
        """Weigh the common neighbors of entities with each of a few others, shape (n, K)."""
        first, second = np.repeat(entities, len(others)), np.tile(others, len(entities))
        weights = self._weigh(self.pairs.common(first, second, hidden), hidden, len(first))
        return weights.reshape(len(entities), len(others))

    def _circumstances(self, examples: Examples, heads: npt.NDArray[np.int64]) -> Columns:
        has_head, is_tail = ((examples.support[:, end] == heads[:, None]).any(axis=1) for end in (0, 1))
        same_for_all = [np.full(len(heads), value) for value in examples.circumstances]
        return [*same_for_all, has_head, is_tail, np.log1p(self.profiles.degrees(heads, examples.hidden))]


def _largest(owners: npt.NDArray[np.int64], values: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return the largest value of each owner, 0 for one without."""
    largest = np.zeros(size)
    np.maximum.at(largest, owners, values)
    return largest
