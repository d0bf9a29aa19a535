"""Ask a method why: its reasons, what it attended to, and what joins head and tail in the graph."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from tripleshot.answering.explanation import NEW_RELATION, Explanation, Side, WeightedExample, WeightedNeighbor
from tripleshot.arrays import FloatArray, IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection, find_connections
from tripleshot.methods.protocol import (
    START,
    Attention,
    AttentiveMethod,
    ExplainingMethod,
    Method,
    Neighborhood,
    Reason,
)

MAX_UNWEIGHED = 8  # neighbors shown on each side when the method weighs none


def explain(
    method: Method,
    support: IntArray,
    head: int,
    tail: int,
    *,
    asked_side: Side = "head",
    relation: str | None = None,
) -> Explanation:
    """Say what a method weighed to score an answer, and what the graph says about head and tail.

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
    is_turned = asked_side == "tail"
    asked, answer = (tail, head) if is_turned else (head, tail)
    given = support[:, ::-1] if is_turned else support
    if isinstance(method, AttentiveMethod):
        seen = method.attention(given, asked, answer)
    else:
        seen = Attention(first_neighbors(graph, asked), first_neighbors(graph, answer))
    to_asked, to_answer = _attention_to_pairs(seen)
    reasons = method.explain(given, asked, answer) if isinstance(method, ExplainingMethod) else []
    named = relation or NEW_RELATION
    return Explanation(
        graph,
        head,
        tail,
        float(method.score(given, asked, np.array([answer]))[0]),
        _examples(support, seen),
        (
            *_neighbors(graph, asked_side, asked, seen.of_head, to_asked),
            *_neighbors(graph, "head" if is_turned else "tail", answer, seen.of_tail, to_answer),
        ),
        find_connections(graph, head, tail),
        order_reasons([_turn(graph, reason) for reason in reasons] if is_turned else reasons),
        () if seen.layers is None else _token_labels(graph, seen, asked, named, answer),
        None if seen.layers is None else seen.layers.mean(axis=0),
        asked_side,
        named,
    )


def order_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Put what speaks for an answer first, then what speaks against it, each the weightiest first; the start last."""
    return tuple(sorted(reasons, key=lambda one: (one.kind == START, one.weight < 0, -abs(one.weight))))


def _turn(graph: KnowledgeGraph, reason: Reason) -> Reason:
    """Read the paths and examples of a reason from their other end."""
    paths = tuple(
        Connection(tuple(graph.inverse(step) for step in path.relations[::-1]), path.entities[::-1])
        for path in reason.paths
    )
    return replace(reason, paths=paths, examples=tuple(pair[::-1] for pair in reason.examples))


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


def _token_labels(graph: KnowledgeGraph, seen: Attention, asked: int, relation: str, answer: int) -> tuple[str, ...]:
    """Name the tokens of a context from left to right; an arrow says which way a relation reads."""

    def relation_label(relation: int) -> str:
        label = graph.relations.label(graph.base(relation))
        return f"← {label}" if graph.is_inverse(relation) else f"{label} →"

    def pairs(around: Neighborhood) -> list[tuple[int, str]]:
        entities = map(graph.entities.label, around.entities.tolist())
        return list(zip(around.relations.tolist(), entities, strict=True))

    before = [(entity, relation_label(graph.inverse(relation))) for relation, entity in pairs(seen.of_head)[::-1]]
    after = [(relation_label(relation), entity) for relation, entity in pairs(seen.of_tail)]
    center = (graph.entities.label(asked), relation, graph.entities.label(answer))
    return (*chain(*before), *center, *chain(*after))
