"""What is known about pairs of head and tail, measured once per batch: the quantities that features are made of.

Everything is computed from the background graph and the examples alone, and for a pair by itself: it does not depend on
which other tails are asked about. In training a background relation can be hidden as if it were not in the graph.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import CommonNeighbors, PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.graph.trigrams import NameTrigrams
from tripleshot.methods.evidence.path_rules import PathRules, find_joining_paths, mine_path_rules
from tripleshot.methods.evidence.walks import ThreeStepWalks

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Examples:
    """What the examples of a relation say, whatever is asked.

    Attributes:
        support: shape (K, 2).
        hidden: edges that are not seen.
        rules: paths that join examples.
        link_shares: shape (2 * num_relations,), the share of examples joined by each relation.
        head_profiles: shape (K, 2 * num_relations), the relations of each example's head.
        tail_profiles: shape (K, 2 * num_relations), the relations of each example's tail.
        linked_share: share of examples that some edge joins.
        common_share: share of examples with a common neighbor.
        distinct_tails: number of different tails per example.
        distinct_heads: number of different heads per example.
    """

    support: Integers
    hidden: HiddenEdges
    rules: PathRules
    link_shares: Floats
    head_profiles: Floats
    tail_profiles: Floats
    linked_share: float
    common_share: float
    distinct_tails: float
    distinct_heads: float


class EvidenceIndex:
    """A graph, indexed by pairs of neighbors and by the relations of every entity; with text also by names."""

    def __init__(self, graph: KnowledgeGraph, text: bool = False) -> None:
        """Build the indexes."""
        self.graph = graph
        self.names = NameTrigrams.of(graph.entities) if text else None
        self.pairs = PairIndex(graph)
        self.profiles = RelationProfiles(graph)
        self.walks = ThreeStepWalks(graph, self.pairs, self.profiles)
        self.relation_rarity = 1 / np.log(graph.relation_counts() + 2.0)

    def read_examples(self, support: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> Examples:
        """Look at the examples of a relation once for all queries."""
        support = np.asarray(support, dtype=np.int64)
        heads, tails = support.T
        shots, width = len(support), 2 * self.graph.num_relations
        links, common = self.pairs.links(heads, tails, hidden), self.pairs.common(heads, tails, hidden)
        owners, relations = links
        joined = np.unique(owners * width + relations) % max(width, 1)
        head_profiles, tail_profiles = (
            self.profiles.of(ends, hidden).dense(self.graph.num_relations) for ends in (heads, tails)
        )
        return Examples(
            support=support,
            hidden=hidden,
            rules=mine_path_rules(self.graph, support, hidden, find_joining_paths(self.pairs, links, common, hidden)),
            link_shares=np.bincount(joined, minlength=width) / shots,
            head_profiles=head_profiles,
            tail_profiles=tail_profiles,
            linked_share=len(np.unique(owners)) / shots,
            common_share=len(np.unique(common.owners)) / shots,
            distinct_tails=len(np.unique(tails)) / shots,
            distinct_heads=len(np.unique(heads)) / shots,
        )

    def weigh_common(self, common: CommonNeighbors, num_pairs: int, hidden: HiddenEdges) -> Floats:
        """Add up the common neighbors of each pair, shape (num_pairs,); one with many edges says little."""
        degrees = self.profiles.degrees(common.middles, hidden)
        return np.bincount(common.owners, 1 / np.maximum(degrees, 1), minlength=num_pairs).astype(np.float64)


class PairEvidence:
    """What speaks for n tails; each quantity is measured when a feature first asks for it.

    Attributes:
        index: of the graph.
        examples: of the relation that is asked about.
        heads: shape (n,).
        tails: shape (n,).
    """

    def __init__(self, index: EvidenceIndex, examples: Examples, heads: IntArray, tails: IntArray) -> None:
        """Measure nothing yet."""
        self.index, self.examples, self.hidden = index, examples, examples.hidden
        self.heads, self.tails = np.asarray(heads, dtype=np.int64), np.asarray(tails, dtype=np.int64)

    def repeat(self, value: float) -> Floats:
        """Return a number that is the same for all pairs, once for each."""
        return np.full(len(self.heads), value)

    @cached_property
    def _links(self) -> tuple[Integers, Integers]:
        return self.index.pairs.links(self.heads, self.tails, self.hidden)

    @cached_property
    def _common(self) -> CommonNeighbors:
        return self.index.pairs.common(self.heads, self.tails, self.hidden)

    @cached_property
    def num_links(self) -> Integers:
        """Number of edges between head and tail."""
        return np.bincount(self._links[0], minlength=len(self.heads))

    @property
    def is_linked(self) -> Booleans:
        """Whether some edge joins head and tail."""
        return self.num_links > 0

    @property
    def link_share(self) -> Floats:
        """Largest share of examples that are joined by the relation of one of the links."""
        return self._best_link(self.examples.link_shares[self._links[1]])

    @property
    def link_exclusiveness(self) -> Floats:
        """Largest 1 / (the head's edges of the link's relation) among the links."""
        owners, relations = self._links
        return self._best_link(1 / np.maximum(self.index.profiles.count(self.heads[owners], relations), 1))

    @property
    def link_rarity(self) -> Floats:
        """Largest rarity in the graph of the relation of one of the links."""
        return self._best_link(self.index.relation_rarity[self.index.graph.base(self._links[1])])

    def _best_link(self, values: Floats) -> Floats:
        """Return the largest value among the links of each pair, 0 for a pair without."""
        largest = np.zeros(len(self.heads))
        np.maximum.at(largest, self._links[0], values)
        return largest

    @cached_property
    def path_weight(self) -> Floats:
        """Sum of the weights of the examples' rules that join head and tail."""
        joining = find_joining_paths(self.index.pairs, self._links, self._common, self.hidden)
        return self.examples.rules.weigh(joining, len(self.heads))

    @cached_property
    def common_weight(self) -> Floats:
        """Weight of the entities next to both head and tail."""
        return self.index.weigh_common(self._common, len(self.heads), self.hidden)

    @cached_property
    def walk_weight(self) -> Floats:
        """Weight of the walks of three steps from head to tail."""
        return self.index.walks.weigh(self.heads, self.tails, self.hidden)

    @cached_property
    def tail_degrees(self) -> Integers:
        """Number of edges of the tail, at least 1."""
        return np.maximum(self.index.profiles.degrees(self.tails, self.hidden), 1)

    @property
    def head_degrees(self) -> Integers:
        """Number of edges of the head."""
        return self.index.profiles.degrees(self.heads, self.hidden)

    @cached_property
    def tail_matches(self) -> Booleans:
        """Whether the tail is that of each example, shape (n, K)."""
        return self.examples.support[:, 1] == self.tails[:, None]

    @cached_property
    def tail_share(self) -> Floats:
        """Share of the examples that have the tail."""
        return self.tail_matches.mean(axis=1)

    def is_example(self, entities: Integers, end: int) -> Booleans:
        """Tell which entities are the head (0) or the tail (1) of some example, shape (n,)."""
        return (self.examples.support[:, end] == entities[:, None]).any(axis=1)

    @cached_property
    def head_similarity(self) -> Floats:
        """Cosine of the head's relations with those of each example's head, shape (n, K)."""
        return self._similarity(self.heads, self.examples.head_profiles)

    @cached_property
    def tail_similarity(self) -> Floats:
        """Cosine of the tail's relations with those of each example's tail, shape (n, K)."""
        return self._similarity(self.tails, self.examples.tail_profiles)

    def _similarity(self, entities: Integers, profiles: Floats) -> Floats:
        asked, places = np.unique(entities, return_inverse=True)
        return self.index.profiles.of(asked, self.hidden).similarity(profiles)[places]

    @cached_property
    def shared_with_heads(self) -> Floats:
        """Weight of the neighbors that the head has in common with each example's head, shape (n, K)."""
        return self._shared_neighbors(self.heads, self.examples.support[:, 0])

    @cached_property
    def shared_with_tails(self) -> Floats:
        """Weight of the neighbors that the tail has in common with each example's tail, shape (n, K)."""
        return self._shared_neighbors(self.tails, self.examples.support[:, 1])

    def _shared_neighbors(self, entities: Integers, others: Integers) -> Floats:
        asked, places = np.unique(entities, return_inverse=True)
        first, second = np.repeat(asked, len(others)), np.tile(others, len(asked))
        common = self.index.pairs.common(first, second, self.hidden)
        return self.index.weigh_common(common, len(first), self.hidden).reshape(len(asked), len(others))[places]

    @cached_property
    def shared_by_similarity(self) -> Floats:
        """Largest product of `shared_with_tails` and `head_similarity` over the examples."""
        return (self.shared_with_tails * self.head_similarity).max(axis=1, initial=0)

    @property
    def name_similarity(self) -> Floats:
        """How much the names of head and tail have in common."""
        return self._names.similarity(self.heads, self.tails)

    @cached_property
    def head_name_similarity(self) -> Floats:
        """How much the head's name has in common with that of each example's head, shape (n, K)."""
        return self._name_similarities(self.heads, self.examples.support[:, 0])

    @cached_property
    def tail_name_similarity(self) -> Floats:
        """How much the tail's name has in common with that of each example's tail, shape (n, K)."""
        return self._name_similarities(self.tails, self.examples.support[:, 1])

    def _name_similarities(self, entities: Integers, others: Integers) -> Floats:
        return np.stack([self._names.similarity(np.full(len(entities), other), entities) for other in others], axis=1)

    @property
    def _names(self) -> NameTrigrams:
        if self.index.names is None:
            raise ValueError("names are not indexed: EvidenceIndex was made without text")
        return self.index.names
