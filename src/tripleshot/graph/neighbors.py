"""Edges of many entities at once, at most a given number per entity: drawn at random for training, or the first ones.

Contexts of pairs and neighborhoods of entities are made of them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray, draw_without_replacement
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph

NeighborOrder = Literal["file", "rare"]
"""Which edges come first when none is drawn at random: in the order of the file, or those of rare relations."""


@dataclass(frozen=True, eq=False)
class DirectNeighbors:
    """Edges that leave n entities, k per entity at most.

    Attributes:
        relations: shape (n, k), relation ids, inverses past `num_relations`; -1 behind the last edge.
        entities: shape (n, k), the entity at the other end; -1 behind the last edge.
        counts: shape (n,), how many edges each entity has here.
    """

    relations: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


class NeighborSampler:
    """Takes edges of entities from a graph, in both directions."""

    def __init__(self, graph: KnowledgeGraph, order: NeighborOrder = "file") -> None:
        """Sort the edges of each entity in the order in which they are taken when none is drawn at random."""
        self.graph = graph
        adjacency = graph.adjacency
        self._offsets, self._relations, self._entities = adjacency.offsets, adjacency.relations, adjacency.entities
        if order == "rare":
            rows = np.repeat(np.arange(graph.num_entities), graph.degrees)
            counts = graph.relation_counts()[graph.base(self._relations)]
            sorted_edges = np.lexsort([counts, rows])
            self._relations, self._entities = self._relations[sorted_edges], self._entities[sorted_edges]

    def sample(
        self,
        entities: IntArray,
        count: int,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> DirectNeighbors:
        """Return up to `count` edges of each entity.

        More edges than that are drawn where some may be hidden; an entity most of whose edges are hidden can end up
        with fewer than it has.

        Args:
            entities: shape (n,).
            count: k, edges per entity at most.
            rng: draws them without replacement, as in training; None takes the first ones, as in validation and test.
            hidden: edges that must not be seen.
        """
        spare = 0 if hidden.is_none else (1 if hidden.others is not None else count)
        relations, others, is_seen = self.draw(entities, count + spare, rng)
        is_seen &= ~hidden.hides(self.graph.base(relations), others)
        kept = np.argsort(~is_seen, axis=1, kind="stable")[:, :count]
        counts = np.minimum(is_seen.sum(axis=1), count)
        is_empty = np.arange(count) >= counts[:, None]
        relations, others = (
            np.where(is_empty, -1, np.take_along_axis(column, kept, axis=1)) for column in (relations, others)
        )
        return DirectNeighbors(relations, others, counts)

    def draw(
        self, entities: IntArray, count: int, rng: np.random.Generator | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Draw up to `count` edges of each entity without replacement, or take the first ones without `rng`.

        Returns:
            relations: shape (n, count), relation ids, inverses past `num_relations`.
            others: shape (n, count), the entity at the other end.
            is_edge: shape (n, count), false where an entity has no more edges, whatever stands there.
        """
        rows = np.asarray(entities, dtype=np.int64)
        starts = self._offsets[rows]
        degrees = self._offsets[rows + 1] - starts
        places = np.broadcast_to(np.arange(count), (len(rows), count))
        is_edge = places < degrees[:, None]
        if rng is not None:
            places = draw_without_replacement(
                degrees, count, lambda bounds: (rng.random(len(bounds)) * bounds).astype(np.int64)
            )
        if not len(self._entities):
            return np.full(is_edge.shape, -1), np.full(is_edge.shape, -1), is_edge
        edges = np.where(is_edge, starts[:, None] + places, 0)
        return self._relations[edges].astype(np.int64), self._entities[edges].astype(np.int64), is_edge
