"""A graph, indexed so that evidence for pairs of head and tail is measured fast."""

from collections.abc import Sequence

import numpy as np

from tripleshot.arrays import IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.graph.trigrams import NameTrigrams
from tripleshot.graph.types import EntityTypes
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.native import EvidenceKernel, Weights, find_kernel
from tripleshot.methods.evidence.pair_evidence import (
    AskedEvidence,
    Examples,
    Floats,
    Integers,
    Joins,
    Likeness,
    TailsByHead,
)
from tripleshot.methods.evidence.path_rules import PathTypes, mine_path_rules
from tripleshot.methods.evidence.plain_evidence import PlainEvidence
from tripleshot.methods.evidence.type_likeness import TypeLikeness


class EvidenceIndex:
    """Pairs of neighbors, relations of every entity and, with text, names; measured natively where that can be done."""

    def __init__(self, graph: KnowledgeGraph, text: bool = False, native: bool = True) -> None:
        """Build the indexes.

        Args:
            graph: to look at.
            text: whether names are looked at, too.
            native: whether compiled code may be used.
        """
        self.graph = graph
        self.names = NameTrigrams.of(graph.entities) if text else None
        self.pairs, self.profiles = PairIndex(graph), RelationProfiles(graph)
        self.types = TypeLikeness(graph.types or EntityTypes.none(graph.num_entities))
        rarity = 1 / np.log(graph.relation_counts() + 2.0)
        self.plain = PlainEvidence(self.pairs, self.profiles, self.types, rarity)
        self.kernel = find_kernel(graph, self.pairs, self.profiles, self.types, rarity) if native else None

    def read_examples(self, support: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> Examples:
        """Look at the examples of a relation once for all queries."""
        support = np.asarray(support, dtype=np.int64)
        heads, tails = support.T
        shots, width = len(support), 2 * self.graph.num_relations
        joining, has_common = self.measuring.join(support, hidden)
        first, second = np.divmod(joining.path_types, PathTypes.of(self.graph).base)
        is_link = second == 0
        linked = np.unique(joining.owners[is_link] * width + first[is_link])
        count_reached = None if self.kernel is None else self.kernel.count_reached
        return Examples(
            support=support,
            hidden=hidden,
            rules=mine_path_rules(self.graph, support, hidden, joining, count_reached),
            walk_rules=self.measuring.mine_walks(support, hidden),
            link_shares=np.bincount(linked % max(width, 1), minlength=width) / shots,
            head_profiles=self.measuring.read_profiles(heads, hidden),
            tail_profiles=self.measuring.read_profiles(tails, hidden),
            linked_share=len(set((linked // max(width, 1)).tolist())) / shots,
            common_share=int(has_common.sum()) / shots,
            distinct_tails=len(set(tails.tolist())) / shots,
            distinct_heads=len(set(heads.tolist())) / shots,
            type_rarity=self.types.rarity(tails),
            typed_share=float(self.types.has_any(tails).mean()),
            loop_share=float((heads == tails).mean()),
        )

    @property
    def measuring(self) -> EvidenceKernel | PlainEvidence:
        """What measures: compiled code, or arrays alone."""
        return self.plain if self.kernel is None else self.kernel

    def measure(self, examples: Examples, asked: TailsByHead, num_threads: int = 1) -> AskedEvidence:
        """Measure everything about heads and their tails."""
        return AskedEvidence(
            examples,
            asked,
            self.measure_joins(examples, asked, num_threads),
            self.head_likeness(examples, asked.heads),
            self.tail_likeness(examples, asked.tails),
            self.names,
        )

    def compute_features(
        self, table: FeatureTable, examples: Examples, asked: TailsByHead, num_threads: int = 1
    ) -> Weights:
        """Return the features of heads with their tails, shape (n, number of features)."""
        evidence = self.measure(examples, asked, num_threads)
        if self.kernel is None or self.names is not None:
            return table.compute(evidence)
        return self.kernel.compute_features(table, evidence)

    def episode_features(self, table: FeatureTable, episodes: Sequence[Episode], num_threads: int = 1) -> Weights:
        """Return the features of the true and wrong tails of episodes that have as many queries and as many of those.

        Returns:
            shape (len(episodes), B, 1 + n, number of features).
        """
        if self.kernel is not None and self.names is None:
            return self.kernel.episode_features(table, episodes, num_threads)
        found = []
        for episode in episodes:
            examples = self.read_examples(episode.support, episode.hidden)
            asked = TailsByHead.of_matrix(episode.queries[:, 0], episode.tails)
            features = self.compute_features(table, examples, asked, num_threads)
            found.append(features.reshape(*episode.tails.shape, -1))
        return np.stack(found)

    def measure_joins(self, examples: Examples, asked: TailsByHead, num_threads: int = 1) -> Joins:
        """Measure what joins heads to their tails."""
        return self.measuring.measure_joins(examples, asked, num_threads)

    def head_likeness(self, examples: Examples, heads: IntArray) -> Likeness:
        """Compare heads with those of the examples."""
        return self._likeness(examples.hidden, heads, examples.support[:, 0], examples.head_profiles)

    def tail_likeness(self, examples: Examples, tails: IntArray) -> Likeness:
        """Compare tails with those of the examples."""
        return self._likeness(examples.hidden, tails, examples.support[:, 1], examples.tail_profiles)

    def _likeness(self, hidden: HiddenEdges, entities: IntArray, others: Integers, profiles: Floats) -> Likeness:
        return self.measuring.measure_likeness(hidden, entities, others, profiles)
