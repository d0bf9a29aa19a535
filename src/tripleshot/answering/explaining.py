"""Why this tail: the examples and neighbors that a method weighed most, and what joins head and tail in the graph.

After the paper's pictures of what its two encoders look at (section V, "Visualization").
"""

from itertools import chain

import numpy as np
import numpy.typing as npt

from tripleshot.answering.explanation import NEW_RELATION, Explanation, Side, WeightedExample, WeightedNeighbor
from tripleshot.answering.text import as_text
from tripleshot.arrays import FloatArray, IntArray
from tripleshot.graph.connections import Connection, find_connections
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.protocol import Attention, AttentiveMethod, ExplainingMethod, Method, Neighborhood

__all__ = ["Connection", "Explanation", "WeightedExample", "WeightedNeighbor", "as_text", "explain", "roll_out"]

MAX_UNWEIGHED = 8  # neighbors shown on each side when the method weighs none


def explain(method: Method, graph: KnowledgeGraph, support: IntArray, head: int, tail: int) -> Explanation:
    """Say what a method weighed to score a tail, and what the graph says about head and tail.

    A method that shows no attention is explained by its reasons; the neighbors are then the first in file order.

    Args:
        method: fitted; the score is its own.
        graph: the background graph.
        support: shape (K, 2), the examples.
        head: the entity asked about.
        tail: the answer to explain.
    """
    support = np.asarray(support)
    if isinstance(method, AttentiveMethod):
        seen = method.attention(support, head, tail)
    else:
        seen = Attention(first_neighbors(graph, head), first_neighbors(graph, tail))
    to_head, to_tail = _attention_to_pairs(seen)
    return Explanation(
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
        () if seen.layers is None else _token_labels(graph, seen, head, tail),
        None if seen.layers is None else seen.layers.mean(axis=0),
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


def _token_labels(graph: KnowledgeGraph, seen: Attention, head: int, tail: int) -> tuple[str, ...]:
    """Name the tokens of a context from left to right; an arrow says which way a relation reads."""

    def relation_label(relation: int) -> str:
        label = graph.relations.label(graph.base(relation))
        return f"← {label}" if graph.is_inverse(relation) else f"{label} →"

    def pairs(around: Neighborhood) -> list[tuple[int, str]]:
        entities = map(graph.entities.label, around.entities.tolist())
        return list(zip(around.relations.tolist(), entities, strict=True))

    before = [(entity, relation_label(graph.inverse(relation))) for relation, entity in pairs(seen.of_head)[::-1]]
    after = [(relation_label(relation), entity) for relation, entity in pairs(seen.of_tail)]
    center = (graph.entities.label(head), NEW_RELATION, graph.entities.label(tail))
    return (*chain(*before), *center, *chain(*after))
