"""Evidence by propagation, in C: one walk outwards from a head measures what joins it to all of its tails.

`native_code` compiles it; where it cannot, `plain_evidence` does the work. Both agree (see the tests). Memory is 36
bytes per entity and thread, of which only what a walk touches is ever taken.
"""

import ctypes
import weakref
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.features import Feature, FeatureTable
from tripleshot.methods.evidence.native.entity_ids import as_ids
from tripleshot.methods.evidence.native.episodes import PinnedEpisodes
from tripleshot.methods.evidence.native.examples import PinnedExamples, ends_of, number_of, pin_hidden, pin_rules
from tripleshot.methods.evidence.native.scratch_pool import ScratchPool
from tripleshot.methods.evidence.native.structures import (
    EvidenceStructure,
    FeaturesStructure,
    GraphStructure,
    Pinned,
    library,
    run_in_parts,
)
from tripleshot.methods.evidence.pair_evidence import (
    AskedEvidence,
    Booleans,
    Examples,
    Floats,
    Integers,
    Joins,
    Likeness,
    TailsByHead,
)
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, MAX_WALKS, SMOOTHING, JoiningPaths, PathTypes
from tripleshot.methods.evidence.type_likeness import TypeLikeness
from tripleshot.methods.evidence.walk_rules import MAX_ENDS, MAX_MINED, MAX_RULES, MAX_VISITS, WalkRules
from tripleshot.methods.native_code import is_wanted

FIRST_CAPACITY = 4096  # paths between examples; more are made room for

Weights = npt.NDArray[np.float32]


class EvidenceKernel:
    """Measures evidence on one graph. Several threads may ask at the same time."""

    def __init__(
        self,
        library: ctypes.CDLL,
        graph: KnowledgeGraph,
        pairs: PairIndex,
        profiles: RelationProfiles,
        types: TypeLikeness,
        relation_rarity: Floats,
    ) -> None:
        """Take what is indexed already; nothing is copied that has the right type."""
        self._library, self.graph, self._path_types = library, graph, PathTypes.of(graph)
        self._graph = Pinned(
            GraphStructure,
            num_entities=graph.num_entities,
            num_relations=max(graph.num_relations, 1),
            rows=pairs.rows,
            middles=pairs.middles,
            sole_relations=pairs.sole_relations,
            edges=pairs.edges,
            pair_relations=pairs.relations,
            groups=profiles.offsets,
            relations=profiles.relations,
            starts=profiles.edges.starts,
            entities=profiles.edges.entities,
            degrees=graph.degrees,
            rarity=profiles.rarity,
            type_offsets=types.types.offsets,
            type_values=types.types.values,
            type_rarity=types.type_rarity,
            max_middle_degree=MAX_MIDDLE_DEGREE,
            max_walks=MAX_WALKS,
            max_rules=MAX_RULES,
            max_ends=MAX_ENDS,
            max_visits=MAX_VISITS,
            max_mined=MAX_MINED,
        )
        self._relation_rarity = np.ascontiguousarray(relation_rarity, np.float64)
        self._prepared: weakref.WeakKeyDictionary[FeatureTable, Pinned] = weakref.WeakKeyDictionary()
        self._pinned: weakref.WeakKeyDictionary[Examples, PinnedExamples] = weakref.WeakKeyDictionary()
        self._scratch = ScratchPool(library, graph.num_entities).lend

    def measure_joins(self, examples: Examples, asked: TailsByHead, num_threads: int = 1) -> Joins:
        """Measure what joins heads to tails; the result does not depend on the number of threads."""
        found = np.zeros((len(Joins.__dataclass_fields__), len(asked.tails)))
        heads, tails = self._ids(asked.heads), self._ids(asked.tails)
        offsets = np.ascontiguousarray(asked.offsets, np.int64)
        pinned, evidence = self._pin(examples), EvidenceStructure.of(found)

        def measure(first: int, last: int) -> None:
            with self._scratch() as scratch:
                failed = self._library.measure_pairs(
                    *(self._graph.address, scratch, pinned.hidden.address, pinned.rules.address),
                    *(
                        pinned.walk_rules.address,
                        examples.link_shares.ctypes.data,
                        self._relation_rarity.ctypes.data,
                        last - first,
                    ),
                    heads.ctypes.data + 8 * first,
                    *(offsets.ctypes.data + 8 * first, tails.ctypes.data, evidence),
                )
                _check(failed)

        run_in_parts(measure, len(heads), num_threads)
        return Joins(*found)

    def episode_features(self, table: FeatureTable, episodes: Sequence[Episode], num_threads: int = 1) -> Weights:
        """Return what `EvidenceIndex.episode_features` returns; the number of threads changes nothing."""
        ends = [ends_of(self.graph, episode.hidden) for episode in episodes]
        pinned = PinnedEpisodes(episodes, ends, self.graph.num_entities, len(table))
        features = self._prepare_table(table)

        def write(first: int, last: int) -> None:
            with self._scratch() as scratch:
                failed = self._library.write_episodes(
                    *(self._graph.address, scratch, features.address, self._relation_rarity.ctypes.data, SMOOTHING),
                    *(last - first, pinned.address(first)),
                )
                _check(failed)

        run_in_parts(write, len(episodes), num_threads)
        return pinned.features

    def join(self, support: Integers, hidden: HiddenEdges) -> tuple[JoiningPaths, Booleans]:
        """Return the path types that join pairs, shape (K, 2), and which pairs have a common neighbor."""
        heads, tails = (self._ids(ends) for ends in support.T)
        has_common = np.zeros(len(heads), np.int64)
        capacity = FIRST_CAPACITY
        while True:
            owners, path_types = np.empty((2, capacity), np.int64)
            count = self._library.join_pairs(
                *(self._graph.address, number_of(hidden), len(heads), heads.ctypes.data, tails.ctypes.data),
                *(capacity, owners.ctypes.data, path_types.ctypes.data, has_common.ctypes.data),
            )
            if count <= capacity:
                return JoiningPaths(owners[:count], path_types[:count]), has_common > 0
            capacity = count

    def mine_walks(self, support: Integers, hidden: HiddenEdges) -> WalkRules:
        """Collect the path types of three steps that join pairs, shape (K, 2)."""
        heads, tails = (self._ids(ends) for ends in support.T)
        path_types, masses = np.empty(MAX_RULES, np.int64), np.empty(MAX_RULES)
        with self._scratch() as scratch:
            count = self._library.mine_walks(
                *(self._graph.address, scratch, number_of(hidden), len(heads), heads.ctypes.data, tails.ctypes.data),
                *(path_types.ctypes.data, masses.ctypes.data),
            )
            _check(count < 0)
        return WalkRules(path_types[:count], masses[:count])

    def count_reached(self, path_types: Integers, heads: IntArray) -> Integers:
        """Return how many entities each path type leads to from the heads, each head's counted by itself."""
        rules, heads, counts = (
            pin_rules(self._path_types, path_types),
            self._ids(heads),
            np.zeros(len(path_types), np.int64),
        )
        with self._scratch() as scratch:
            failed = self._library.count_reached(
                self._graph.address, scratch, rules.address, len(heads), heads.ctypes.data, counts.ctypes.data
            )
            _check(failed)
        return counts

    def read_profiles(self, entities: Integers, hidden: HiddenEdges) -> Floats:
        """Return the relations of entities, as `RelationProfiles` weighs them: shape (2 * num_relations, n)."""
        entities, profiles = self._ids(entities), np.zeros((2 * self.graph.num_relations, len(entities)))
        self._library.read_profiles(
            self._graph.address, number_of(hidden), len(entities), entities.ctypes.data, profiles.ctypes.data
        )
        return profiles

    def measure_likeness(self, hidden: HiddenEdges, entities: IntArray, others: Integers, profiles: Floats) -> Likeness:
        """Compare entities with others by relations, whose profiles are given, and by neighbors."""
        entities, others, unseen = self._ids(entities), self._ids(others), pin_hidden(self.graph, hidden)
        degrees = np.empty(len(entities), np.int64)
        similarity, shared, types = np.zeros((3, len(others), len(entities)))
        with self._scratch() as scratch:
            failed = self._library.compare(
                *(self._graph.address, scratch, unseen.address, len(entities), entities.ctypes.data, len(others)),
                *(others.ctypes.data, profiles.ctypes.data, similarity.ctypes.data, shared.ctypes.data),
                *(types.ctypes.data, degrees.ctypes.data),
            )
            _check(failed)
        return Likeness(degrees, similarity, shared, types)

    def compute_features(self, table: FeatureTable, evidence: AskedEvidence) -> Weights:
        """Return what `FeatureTable.compute` returns; names are not looked at."""
        asked, heads, like = evidence.asked, evidence.head_likeness, evidence.tail_likeness
        features = self._prepare_table(table)
        support, factors = self._pin(evidence.examples).support, table.factors(evidence)
        tails, rows = asked.tails, asked.rows
        out = np.empty((len(tails), len(table)), np.float32)
        self._library.write_features(
            *(features.address, support.address, len(asked.heads), factors.ctypes.data, heads.similarity.ctypes.data),
            *(heads.shared.ctypes.data, len(tails), tails.ctypes.data, rows.ctypes.data),
            *(EvidenceStructure.of(evidence.joins.block), like.degrees.ctypes.data, like.similarity.ctypes.data),
            *(like.shared.ctypes.data, like.types.ctypes.data, out.ctypes.data),
        )
        return out

    def score_tails(
        self,
        features: Pinned,
        examples: Examples,
        factors: Weights,
        head: Likeness,
        tails: Integers,
        joins: Joins,
        codes: Weights,
        rows: npt.NDArray[np.int32],
        start: Weights,
        weights: Weights,
        out: Weights,
    ) -> Weights:
        """Score n tails of one head by a network of one hidden layer, whose first layer is added up from parts.

        Args:
            features: those of the pair, as `prepare` returns them.
            examples: of the relation.
            factors: shape (number of features,), what they are multiplied by for this head.
            head: likeness of the head.
            tails: shape (n,).
            joins: what joins the head to them.
            codes: shape (m, width + 1 + K): what the first layer says of tails, their degrees and what they share.
            rows: shape (n,), the row of each tail.
            start: shape (width,), what the first layer says of the head.
            weights: shape (number of features, width), of the first layer.
            out: shape (width,), the second layer.
        """
        scores, support = np.empty(len(rows), np.float32), self._pin(examples).support
        failed = self._library.score_tails(
            *(features.address, support.address, factors.ctypes.data, head.similarity.ctypes.data),
            *(head.shared.ctypes.data, len(tails), tails.ctypes.data, EvidenceStructure.of(joins.block), len(out)),
            *(codes.ctypes.data, codes.shape[1], rows.ctypes.data, start.ctypes.data, weights.ctypes.data),
            *(out.ctypes.data, scores.ctypes.data),
        )
        _check(failed)
        return scores

    def prepare(self, features: tuple[Feature, ...]) -> Pinned:
        """Return features as the kernel reads them."""
        quantities, transforms, factors = (
            (ctypes.c_char_p.in_dll(self._library, name).value or b"").decode().split()
            for name in ("QUANTITIES", "TRANSFORMS", "FACTORS")
        )
        return Pinned(
            FeaturesStructure,
            count=len(features),
            quantities=np.array([quantities.index(feature.quantity) for feature in features], np.int64),
            transforms=np.array([transforms.index(feature.transform) for feature in features], np.int64),
            factors=np.array([factors.index(feature.factor) for feature in features], np.int64),
            scales=np.array([feature.scale for feature in features], np.float64),
        )

    def _ids(self, entities: IntArray) -> Integers:
        return as_ids(entities, self.graph.num_entities)

    def _prepare_table(self, table: FeatureTable) -> Pinned:
        if table not in self._prepared:
            self._prepared[table] = self.prepare(table.features)
        return self._prepared[table]

    def _pin(self, examples: Examples) -> PinnedExamples:
        if examples not in self._pinned:
            self._pinned[examples] = PinnedExamples.of(examples, self.graph, self._path_types)
        return self._pinned[examples]


def find_kernel(
    graph: KnowledgeGraph, pairs: PairIndex, profiles: RelationProfiles, types: TypeLikeness, relation_rarity: Floats
) -> EvidenceKernel | None:
    """Return the kernel for a graph, or None where it is not wanted or cannot be compiled."""
    found = library() if is_wanted() and graph.num_relations else None
    return None if found is None else EvidenceKernel(found, graph, pairs, profiles, types, relation_rarity)


def _check(failed: int) -> None:
    if failed:
        raise MemoryError("no memory to measure evidence")
