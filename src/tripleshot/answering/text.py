"""An explanation in plain words: one sentence, then what spoke for an answer and against it, by weight."""

from tripleshot.answering.explanation import NEW_RELATION, Explanation, Side
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection
from tripleshot.methods.protocol import Reason

MAX_NAMED = 3  # items in a line, and lines of a kind
EVEN = 1.25  # the heaviest is less than this many times the lightest: then none stands out
MINUS = "−"
FOR, AGAINST = "What spoke for it:", "What spoke against it:"


def as_text(explanation: Explanation) -> str:
    """Tell in about a dozen lines what the method weighed most and what joins head and tail in the graph."""
    graph = explanation.graph
    told = [(reason.weight, _reason_lines(graph, reason, paths)) for reason, paths in new_paths(explanation)]
    spoke_for = [line for weight, lines in told if weight > 0 for line in lines]
    spoke_against = [line for weight, lines in told if weight < 0 for line in lines]
    lines = [
        title_text(explanation),
        explanation.summary,
        *([FOR, *spoke_for] if spoke_for else []),
        *([AGAINST, *spoke_against] if spoke_against else []),
        *remarks(explanation),
    ]
    return "\n".join(lines)


def title_text(explanation: Explanation) -> str:
    """Write the question that an explanation answers."""
    label = explanation.graph.entities.label
    return f"Why {label(explanation.answer)} for {label(explanation.asked)}{_named(explanation.relation)}?"


def _named(relation: str) -> str:
    return "" if relation == NEW_RELATION else f" ({relation})"


def summarize(explanation: Explanation) -> str:
    """Tell the whole in one sentence: the answer, the main reason for it, and the main one against it."""
    answer = explanation.graph.entities.label(explanation.answer)
    main = explanation.main_reasons
    best = next((one.text for one in main if one.weight > 0), None)
    worst = next((one.text for one in main if one.weight < 0), None)
    if best is not None:
        return f"{answer}, mainly because {best}{f', although {worst}' if worst else ''}."
    if worst is not None:
        return f"{answer}, although {worst}, and nothing speaks for it."
    return f"{answer}, {_what_weighed_most(explanation)}."


def remarks(explanation: Explanation) -> list[str]:
    """Tell what is not a reason of the method: examples and neighbors that it weighed, and more paths of the graph."""
    graph = explanation.graph
    names: dict[Side, str] = {
        "head": graph.entities.label(explanation.head),
        "tail": graph.entities.label(explanation.tail),
    }
    sides: tuple[Side, Side] = ("head", "tail") if explanation.asked_side == "head" else ("tail", "head")
    return [
        *_about_examples(explanation, graph),
        *(line for side in sides for line in _around(explanation, graph, side, names[side])),
        *_further_away(explanation, graph),
        *_connections(explanation, graph, f"{names['head']} and {names['tail']}"),
    ]


def signed(weight: float) -> str:
    """Write a weight with its sign and two digits; more where they would all be zeros, and a zero without a sign."""
    if not weight:
        return "0.00"
    size = abs(weight)
    digits = f"{size:.2f}" if size >= 0.005 else f"{size:.1g}"
    return f"{'+' if weight > 0 else MINUS}{digits}"


def path_text(graph: KnowledgeGraph, path: Connection) -> str:
    """Write a path as it is walked: "Baku — is a city in → Azerbaijan ← borders — Iran"."""
    steps = zip(path.relations, path.entities[1:], strict=True)
    return " ".join([graph.entities.label(path.entities[0]), *(_step(graph, *step, "— ") for step in steps)])


def new_paths(explanation: Explanation) -> list[tuple[Reason, list[Connection]]]:
    """Return the main reasons, each with the paths under it that no reason before has shown."""
    shown: set[Connection] = set()
    found = []
    for reason in explanation.main_reasons:
        paths = [path for path in reason.paths[:MAX_NAMED] if path not in shown]
        shown.update(paths)
        found.append((reason, paths))
    return found


def _reason_lines(graph: KnowledgeGraph, reason: Reason, paths: list[Connection]) -> list[str]:
    """Write a reason with its weight, and paths under it."""
    number = signed(reason.weight)
    indent = " " * (len(number) + 4)
    return [f"  {number}  {reason.text}", *(f"{indent}{path_text(graph, path)}" for path in paths)]


def _what_weighed_most(explanation: Explanation) -> str:
    """Name the example that stands out or, if none does, the heaviest neighbor."""
    graph = explanation.graph
    weights = [example.weight for example in explanation.examples if example.weight is not None]
    if weights and not _are_even(weights):
        best = max(explanation.examples, key=lambda example: example.weight or 0)
        return f"mainly because it resembles the example {_example(graph, best.head, best.tail)}{_share(best.weight)}"
    near = [neighbor for neighbor in explanation.neighbors if neighbor.hops == 1 and neighbor.weight]
    if near:
        best = max(near, key=lambda neighbor: neighbor.weight or 0)
        center = graph.entities.label(explanation.head if best.side == "head" else explanation.tail)
        step = _step(graph, best.relation, best.entity, "— ")
        return f"with most weight on {center} {step}{_share(best.weight)}"
    return "for which the method gives no reason"


def _example(graph: KnowledgeGraph, head: int, tail: int) -> str:
    return f"{graph.entities.label(head)} → {graph.entities.label(tail)}"


def _about_examples(explanation: Explanation, graph: KnowledgeGraph) -> list[str]:
    weighed = sorted(explanation.examples, key=lambda example: -(example.weight or 0))
    weights = [example.weight for example in weighed if example.weight is not None]
    if not weights:
        return []
    if _are_even(weights):
        return [f"It resembles all {len(weights)} examples about equally."]
    named = [_example(graph, example.head, example.tail) + _share(example.weight) for example in weighed]
    return [f"It resembles most the example{'s' * (len(weights) > 1)} {_listing(named[:MAX_NAMED])}."]


def _around(explanation: Explanation, graph: KnowledgeGraph, side: Side, name: str) -> list[str]:
    """Name the heaviest neighbors of a side; unweighed ones say nothing beside its reasons."""
    neighbors = explanation.around(side)
    if not neighbors:
        return [f"The graph says nothing about {name}."]
    weights = [near.weight for near in neighbors if near.weight is not None]
    if not weights and explanation.main_reasons:
        return []
    named = [_step(graph, near.relation, near.entity) + _share(near.weight) for near in neighbors[:MAX_NAMED]]
    if _are_even(weights):
        opening = f"Around {name}, {len(weights)} neighbors weighed about the same, among them"
    else:
        opening = f"What weighed most around {name}" if len(weights) > 1 else f"Around {name}"
    return [f"{opening}: {', '.join(named)}."]


def _further_away(explanation: Explanation, graph: KnowledgeGraph) -> list[str]:
    """Name the distant neighbors of either side with the most attention."""
    distant = [*explanation.around("head", hops=2), *explanation.around("tail", hops=2)]
    distant = sorted(distant, key=lambda far: -(far.attention or 0))[:MAX_NAMED]
    named = [
        path_text(graph, Connection((far.relation,), (far.through, far.entity))) + _share(far.attention)
        for far in distant
        if far.through is not None
    ]
    by_attention = ", by attention" * any(far.attention is not None for far in distant)
    return [f"Further away{by_attention}: {', '.join(named)}."] if named else []


def _are_even(weights: list[float]) -> bool:
    return len(weights) > 1 and max(weights) < EVEN * min(weights)


def _connections(explanation: Explanation, graph: KnowledgeGraph, both: str) -> list[str]:
    """Name links and paths of the graph that no reason has shown."""
    told = {path for reason in explanation.main_reasons for path in reason.paths[:MAX_NAMED]}
    if not explanation.connections and not told:
        return [f"In the graph no link and no path of two steps joins {both}."]
    found = [connection for connection in explanation.connections if connection not in told]
    opening = "Also in the graph" if told else "In the graph"
    more = [f"{opening} there are more such paths."] * (len(found) > MAX_NAMED)
    return [*(f"{opening}: {path_text(graph, path)}." for path in found[:MAX_NAMED]), *more]


def _step(graph: KnowledgeGraph, relation: int, entity: int, line: str = "") -> str:
    """Write an edge as it is walked: "is a city in → Azerbaijan", against its direction "← lies in — Baku"."""
    label, end = graph.relations.label(graph.base(relation)), graph.entities.label(entity)
    return f"← {label} — {end}" if graph.is_inverse(relation) else f"{line}{label} → {end}"


def _share(weight: float | None) -> str:
    return "" if weight is None else f" ({weight:.0%})"


def _listing(items: list[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
