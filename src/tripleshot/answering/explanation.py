"""Why this tail: the examples and neighbors that a method weighed most, and what joins head and tail in the graph.

After the paper's pictures of what its two encoders look at (section V, "Visualization"). Weights say what a method
listened to. They are no proof that the answer would change without it.
"""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection, find_connections
from tripleshot.methods.protocol import Attention, AttentiveMethod, ExplainingMethod, Method, Neighborhood, Reason

Side = Literal["head", "tail"]
PlotKind = Literal["neighbors", "attention"]
MAX_UNWEIGHED = 8  # neighbors shown on each side when the method weighs none
NEW_RELATION = "the new relation"  # its name is not known, only its examples are


@dataclass(frozen=True)
class WeightedExample:
    """An example of the relation, and how much of the support it was for this query.

    Attributes:
        head: the example's head; `tail` its tail.
        global_weight: the aggregator's weight on whole contexts, which sums to one over the examples; None if the
            method has none.
        local_weight: the same on direct neighbors.
    """

    head: int
    tail: int
    global_weight: float | None
    local_weight: float | None

    @property
    def weight(self) -> float | None:
        """The mean of the weights that there are."""
        weights = [weight for weight in (self.global_weight, self.local_weight) if weight is not None]
        return sum(weights) / len(weights) if weights else None


@dataclass(frozen=True)
class WeightedNeighbor:
    """A neighbor of the head or the tail in the context that was scored.

    Attributes:
        side: whose neighbor it is.
        hops: 1 for a direct neighbor, 2 for a distant one.
        relation: of the edge to it, which leaves the side's entity or `through`; past `num_relations` an inverse.
        entity: the neighbor.
        through: the direct neighbor that a distant one is reached through; None for a direct one.
        local_weight: the local encoder's weight, which sums to one over a side; None for distant ones.
        attention: what the encoder's attention, rolled out over its layers, leads from head, relation and tail to the
            neighbor's entity and relation together; see `roll_out`.
    """

    side: Side
    hops: int
    relation: int
    entity: int
    through: int | None
    local_weight: float | None
    attention: float | None

    @property
    def weight(self) -> float | None:
        """The local encoder's weight if there is one, else the attention."""
        return self.attention if self.local_weight is None else self.local_weight


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything there is to say about one answer; printed, it is a text for a person.

    Attributes:
        graph: what its ids belong to.
        head: the entity asked about; `tail` the answer to explain.
        score: the method's score.
        examples: in the order given.
        neighbors: the head's from the nearest slot outwards, then the tail's.
        connections: how the graph joins head and tail.
        reasons: the method's own, the weightiest first; empty when it gives none.
        tokens: what stands in the context, in order, without padding; empty when there is no attention.
        attention: shape (len(tokens), len(tokens)), of each token to each other, averaged over heads and layers.
        relation: what the relation is called; empty if nobody said.
    """

    graph: KnowledgeGraph
    head: int
    tail: int
    score: float
    examples: tuple[WeightedExample, ...]
    neighbors: tuple[WeightedNeighbor, ...]
    connections: tuple[Connection, ...]
    reasons: tuple[Reason, ...]
    tokens: tuple[str, ...]
    attention: FloatArray | None
    relation: str = ""

    def around(self, side: Side, hops: int = 1) -> list[WeightedNeighbor]:
        """Return the neighbors of one side, the weightiest first."""
        there = [neighbor for neighbor in self.neighbors if (neighbor.side, neighbor.hops) == (side, hops)]
        return sorted(there, key=lambda neighbor: -(neighbor.weight or 0))

    def __str__(self) -> str:
        from tripleshot.answering.text import as_text

        return as_text(self)

    def plot(self, path: str | Path, kind: PlotKind = "neighbors") -> None:
        """Draw the weighted neighbors, or the attention map of a method that has one, as PNG, SVG or PDF."""
        from tripleshot.answering.plots import draw_attention, draw_neighbors  # nobody else waits for matplotlib

        {"neighbors": draw_neighbors, "attention": draw_attention}[kind](self, Path(path))


def explain(
    method: Method,
    support: IntArray,
    head: int,
    tail: int,
    *,
    asked_side: Side = "head",
    relation: str | None = None,
) -> Explanation:
    """Say what a method weighed to score a tail, and what the graph says about head and tail.

    A method that shows no attention is explained by its reasons; the neighbors are then the first in file order.

    Args:
        method: ready to score; the score is its own, and what is said about the graph is about its graph.
        support: shape (K, 2), head and tail of each example.
        head: of the relation; `tail` its tail.
        tail: see `head`.
        asked_side: whether the head or the tail was asked about; the other one is the answer to explain.
        relation: what the relation is called, if it has a name.
    """
    support, graph = np.asarray(support), method.graph
    if asked_side == "tail":
        support, head, tail = support[:, ::-1], tail, head
    if isinstance(method, AttentiveMethod):
        seen = method.attention(support, head, tail)
    else:
        seen = Attention(first_neighbors(graph, head), first_neighbors(graph, tail))
    to_head, to_tail = _attention_to_pairs(seen)
    return Explanation(
        graph,
        head,
        tail,
        float(method.score(support, head, np.array([tail]))[0]),
        _examples(support, seen),
        (
            *_neighbors(graph, "head", head, seen.of_head, to_head),
            *_neighbors(graph, "tail", tail, seen.of_tail, to_tail),
        ),
        find_connections(graph, head, tail),
        tuple(method.explain(support, head, tail)) if isinstance(method, ExplainingMethod) else (),
        () if seen.layers is None else _token_labels(graph, seen, head, tail, relation or ""),
        None if seen.layers is None else seen.layers.mean(axis=0),
        relation or "",
    )


def roll_out(layers: FloatArray, rows: IntArray) -> npt.NDArray[np.float64]:
    """Follow attention through the layers, from the mean of some tokens' states down to the input tokens.

    Attention rollout: each layer's map A becomes (A + I) / 2, half for the residual connection, and the maps are
    multiplied, the last layer first. The mean over head, relation and tail is how the global encoder pools.

    Args:
        layers: shape (L, n, n), rows sum to one.
        rows: tokens whose final states are pooled.

    Returns:
        shape (n,), sums to one.
    """
    share = np.zeros(layers.shape[1])
    share[rows] = 1 / len(rows)
    for attention in layers[::-1]:
        share = (share @ attention + share) / 2
    return share / share.sum()


def _attention_to_pairs(seen: Attention) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the rolled-out attention to each pair of the head and of the tail, its entity and relation added."""
    if seen.layers is None:
        return None, None
    center = 2 * len(seen.of_head.entities)
    pairs = roll_out(seen.layers, np.arange(center, center + 3))
    return pairs[:center].reshape(-1, 2).sum(axis=1)[::-1], pairs[center + 3 :].reshape(-1, 2).sum(axis=1)


def first_neighbors(graph: KnowledgeGraph, entity: int) -> Neighborhood:
    """Return the first neighbors of an entity in file order, for a method that weighs none."""
    relations, entities = (column[:MAX_UNWEIGHED] for column in graph.adjacency.edges(entity))
    return Neighborhood(relations, entities, len(entities))


def _examples(support: IntArray, seen: Attention) -> tuple[WeightedExample, ...]:
    levels = (_listed(level, len(support)) for level in (seen.global_examples, seen.local_examples))
    return tuple(WeightedExample(*row) for row in zip(*support.T.tolist(), *levels, strict=True))


def _neighbors(
    graph: KnowledgeGraph, side: Side, center: int, around: Neighborhood, attention: FloatArray | None
) -> list[WeightedNeighbor]:
    relations, entities, direct = around.relations.tolist(), around.entities.tolist(), around.num_direct
    through = chain([None] * direct, _through(graph, center, around))
    local = _listed(around.weights, direct) + [None] * (len(entities) - direct)
    columns = zip(relations, entities, through, local, _listed(attention, len(entities)), strict=True)
    return [WeightedNeighbor(side, 1 if i < direct else 2, *row) for i, row in enumerate(columns)]


def _through(graph: KnowledgeGraph, center: int, around: Neighborhood) -> list[int]:
    """Find, for each distant neighbor, a direct one that has its edge; the same edge again came through another."""
    middles = [entity for entity in dict.fromkeys(around.entities[: around.num_direct].tolist()) if entity != center]
    distant = slice(around.num_direct, None)
    edges = list(zip(around.relations[distant].tolist(), around.entities[distant].tolist(), strict=True))
    through = []
    for i, (relation, entity) in enumerate(edges):
        relations, others = graph.adjacency.edges(entity)
        owners = others[np.isin(others, middles) & (relations == graph.inverse(relation))]
        able = [middle for middle in middles if middle in owners]
        through.append(able[min(edges[:i].count(edges[i]), len(able) - 1)])
    return through


def _listed(weights: FloatArray | None, count: int) -> list[float | None]:
    return [None] * count if weights is None else [float(weight) for weight in weights]


def _token_labels(graph: KnowledgeGraph, seen: Attention, head: int, tail: int, relation: str) -> tuple[str, ...]:
    """Name the tokens of a context from left to right; an arrow says which way a relation reads."""

    def relation_label(relation: int) -> str:
        label = graph.relations.label(graph.base(relation))
        return f"← {label}" if graph.is_inverse(relation) else f"{label} →"

    def pairs(around: Neighborhood) -> list[tuple[int, str]]:
        entities = map(graph.entities.label, around.entities.tolist())
        return list(zip(around.relations.tolist(), entities, strict=True))

    before = [(entity, relation_label(graph.inverse(relation))) for relation, entity in pairs(seen.of_head)[::-1]]
    after = [(relation_label(relation), entity) for relation, entity in pairs(seen.of_tail)]
    center = (graph.entities.label(head), relation or NEW_RELATION, graph.entities.label(tail))
    return (*chain(*before), *center, *chain(*after))
