"""An explanation in plain words, for a person: what weighed most, never "because"."""

from tripleshot.answering.explanation import Explanation, Side
from tripleshot.graph.knowledge_graph import KnowledgeGraph

MAX_NAMED = 3  # items in a line, and lines of a kind
EVEN = 1.25  # the heaviest is less than this many times the lightest: then none stands out


def as_text(explanation: Explanation) -> str:
    """Tell in about a dozen lines what the method weighed most and what joins head and tail in the graph."""
    graph = explanation.graph
    head, tail = graph.entities.label(explanation.head), graph.entities.label(explanation.tail)
    reasons = [each.text for each in explanation.reasons if each.weight > 0 and each.kind != "start"][: 2 * MAX_NAMED]
    lines = [
        f"Why {tail} for {head}{f' ({explanation.relation})' if explanation.relation else ''}?",
        *_about_examples(explanation, graph),
        *(["What spoke for it:", *(f"  {reason}" for reason in reasons)] if reasons else []),
        _around(explanation, graph, "head", head),
        _around(explanation, graph, "tail", tail),
        *_further_away(explanation, graph),
        *_connections(explanation, graph, f"{head} and {tail}"),
    ]
    return "\n".join(lines)


def _about_examples(explanation: Explanation, graph: KnowledgeGraph) -> list[str]:
    label = graph.entities.label
    weighed = sorted(explanation.examples, key=lambda example: -(example.weight or 0))
    weights = [example.weight for example in weighed if example.weight is not None]
    if not weights:
        return []
    if _are_even(weights):
        return [f"It resembles all {len(weights)} examples about equally."]
    named = [f"{label(example.head)} → {label(example.tail)}{_share(example.weight)}" for example in weighed]
    return [f"It resembles most the example{'s' * (len(weights) > 1)} {_listing(named[:MAX_NAMED])}."]


def _around(explanation: Explanation, graph: KnowledgeGraph, side: Side, name: str) -> str:
    neighbors = explanation.around(side)
    if not neighbors:
        return f"The graph says nothing about {name}."
    weights = [near.weight for near in neighbors if near.weight is not None]
    named = [_step(graph, near.relation, near.entity) + _share(near.weight) for near in neighbors[:MAX_NAMED]]
    if _are_even(weights):
        opening = f"Around {name}, {len(weights)} neighbors weighed about the same, among them"
    else:
        opening = f"What weighed most around {name}" if len(weights) > 1 else f"Around {name}"
    return f"{opening}: {', '.join(named)}."


def _further_away(explanation: Explanation, graph: KnowledgeGraph) -> list[str]:
    """Name the distant neighbors of either side with the most attention."""
    distant = [*explanation.around("head", hops=2), *explanation.around("tail", hops=2)]
    distant = sorted(distant, key=lambda far: -(far.attention or 0))[:MAX_NAMED]
    named = [
        _path(graph, (far.relation,), (far.through, far.entity)) + _share(far.attention)
        for far in distant
        if far.through is not None
    ]
    by_attention = ", by attention" * any(far.attention is not None for far in distant)
    return [f"Further away{by_attention}: {', '.join(named)}."] if named else []


def _are_even(weights: list[float]) -> bool:
    return len(weights) > 1 and max(weights) < EVEN * min(weights)


def _connections(explanation: Explanation, graph: KnowledgeGraph, both: str) -> list[str]:
    found = explanation.connections
    if not found:
        return [f"In the graph no link and no path of two steps joins {both}."]
    paths = [_path(graph, connection.relations, connection.entities) for connection in found[:MAX_NAMED]]
    more = ["In the graph there are more such paths."] * (len(found) > MAX_NAMED)
    return [*(f"In the graph: {path}." for path in paths), *more]


def _path(graph: KnowledgeGraph, relations: tuple[int, ...], entities: tuple[int, ...]) -> str:
    steps = zip(relations, entities[1:], strict=True)
    return " ".join([graph.entities.label(entities[0]), *(_step(graph, *step, "— ") for step in steps)])


def _step(graph: KnowledgeGraph, relation: int, entity: int, line: str = "") -> str:
    """Write an edge as it is walked: "is a city in → Azerbaijan", against its direction "← lies in — Baku"."""
    label, end = graph.relations.label(graph.base(relation)), graph.entities.label(entity)
    return f"← {label} — {end}" if graph.is_inverse(relation) else f"{line}{label} → {end}"


def _share(weight: float | None) -> str:
    return "" if weight is None else f" ({weight:.0%})"


def _listing(items: list[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
