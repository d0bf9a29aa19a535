"""Relation profiles: which relations each entity takes part in, weighted by TF-IDF, to compare what entities are.

An entity is the document and its relations and their inverses are the terms: a relation that few entities have says
more. Two entities with similar profiles are of a similar kind, whatever their neighbors are.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, sum_rows
from tripleshot.graph.edge_blocks import profile_blocks, rows_by_relation
from tripleshot.graph.hidden_edges import NO_RELATION, HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph

FloatMatrix = npt.NDArray[np.float64]

NUM_TRIES = 3  # to draw a relation that is not hidden


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profiles of n entities in a CSR layout.

    Attributes:
        offsets: shape (n + 1,), where each entity's relations start and end.
        relations: shape (m,), inverses past `num_relations`.
        weights: shape (m,), TF-IDF: log(1 + edges) times rarity; those of an entity have unit length.
    """

    offsets: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]

    def dense(self, num_relations: int) -> FloatMatrix:
        """Return the weights with a column per relation and inverse: shape (n, 2 * num_relations)."""
        matrix = np.zeros((len(self.offsets) - 1, 2 * num_relations))
        owners = np.repeat(np.arange(len(matrix)), np.diff(self.offsets))
        matrix[owners, self.relations] = self.weights
        return matrix

    def similarity(self, others: FloatMatrix) -> FloatMatrix:
        """Return the cosine with each of some dense profiles, shape (n, number of others)."""
        return sum_rows(self.weights[:, None] * others.T[self.relations], self.offsets)


@dataclass(frozen=True, eq=False)
class EdgesByRelation:
    """Every entity's edges in both directions, sorted by (entity, relation, other entity).

    Attributes:
        starts: shape (n + 1,), where the edges of each (entity, relation) of `RelationProfiles` start and end.
        entities: shape (num_edges,), the entity at the other end.
    """

    starts: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int32]


class RelationProfiles:
    """How many edges of each relation every entity has, and the profiles made of these counts.

    Attributes:
        graph: whose edges these are.
        offsets: shape (num_entities + 1,), where the relations of each entity start and end.
        relations: shape (n,), in order within an entity, inverses past `num_relations`.
        counts: shape (n,), how many edges of that relation the entity has.
        rarity: shape (2 * num_relations,), the inverse document frequency of each relation and inverse.
        edges: the edges themselves in the same order.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        """Count the edges of each entity by relation."""
        self.graph = graph
        columns = graph.index("profiles", profile_blocks)
        self.offsets: npt.NDArray[np.int64] = columns["offsets"]
        self.relations: npt.NDArray[np.int32] = columns["relations"]
        self.counts: npt.NDArray[np.int32] = columns["counts"]
        self.edges = EdgesByRelation(columns["starts"], columns["entities"])
        self.rarity: npt.NDArray[np.float64] = columns["rarity"]

    def of(self, entities: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> Profiles:
        """Return the profiles of entities as if hidden relations were not in the graph."""
        positions, owners = arrays.expand(self.offsets, np.asarray(entities, dtype=np.int64))
        relations = self.relations[positions].astype(np.int64)
        seen = self.graph.base(relations) != hidden.relations_of(owners)
        relations, owners = relations[seen], owners[seen]
        counts = self.counts[positions][seen].astype(np.float64)
        offsets = np.searchsorted(owners, np.arange(len(entities) + 1))
        weights = np.log1p(counts) * self.rarity[relations]
        lengths = np.sqrt(sum_rows(np.square(weights)[:, None], offsets)[:, 0])
        return Profiles(offsets, relations, weights / np.maximum(lengths, 1e-9)[owners])

    def count(self, entities: IntArray, relations: IntArray | int) -> npt.NDArray[np.int64]:
        """Return how many edges of a relation each entity has."""
        entities = np.asarray(entities, dtype=np.int64)
        places = arrays.find_in_rows(self.offsets, self.relations, entities, np.broadcast_to(relations, entities.shape))
        counts = np.zeros(entities.shape, dtype=np.int64)
        counts[places >= 0] = self.counts[places[places >= 0]]
        return counts

    def degrees(self, entities: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> npt.NDArray[np.int64]:
        """Return the number of edges of each entity as if hidden relations were not in the graph."""
        degrees = self.graph.degrees[entities]
        if hidden.is_none:
            return degrees
        relations = hidden.relations_of(np.arange(len(entities)))
        unseen = self.count(entities, relations) + self.count(entities, self.graph.inverse(relations))
        return degrees - np.where(np.greater_equal(relations, 0), unseen, 0)

    def draw_alike(
        self, entities: IntArray, rng: np.random.Generator, hidden: int = NO_RELATION
    ) -> npt.NDArray[np.int64]:
        """Draw an entity for each of some others: at the same end of an edge of some relation that the other has.

        Each of an entity's relations is as likely as any other, and each edge of it. An entity that has none but the
        hidden one gets any entity.

        Args:
            entities: shape (n,).
            rng: what is drawn by.
            hidden: a relation that is not seen; -1 for none.

        Returns:
            shape (n,).
        """
        graph, by_relation = self.graph, self.graph.index("rows_by_relation", rows_by_relation)
        entities = np.asarray(entities, dtype=np.int64)
        first, last = self.offsets[entities], self.offsets[entities + 1]
        found, is_open = rng.integers(graph.num_entities, size=len(entities)), first < last
        for _ in range(NUM_TRIES):
            places = first + (rng.random(len(entities)) * (last - first)).astype(np.int64)
            draws = rng.random(len(entities))
            asked = np.flatnonzero(is_open)
            relations = self.relations[places[asked]].astype(np.int64)
            is_seen = graph.base(relations) != hidden
            asked, relations = asked[is_seen], relations[is_seen]
            start, end = (by_relation["offsets"][graph.base(relations) + side] for side in (0, 1))
            rows = by_relation["rows"][start + (draws[asked] * (end - start)).astype(np.int64)]
            found[asked] = np.where(graph.is_inverse(relations), graph.tail_ids[rows], graph.head_ids[rows])
            is_open[asked] = False
        return found
