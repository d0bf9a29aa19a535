"""Evidence in words: the links, paths, neighbors, walks and examples that speak for a tail, as sentences for people."""

import numpy as np

from tripleshot.arrays import IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.pair_evidence import Examples
from tripleshot.methods.evidence.path_rules import PathRules, PathTypes, walk

MAX_NAMED = 3  # paths, or common neighbors


def describe_evidence(index: EvidenceIndex, examples: Examples, head: int, tail: int) -> dict[str, list[str]]:
    """Return at least one sentence for each kind of evidence; what is missing, such as a link, is said as well."""
    graph = index.graph
    first, last = graph.entities.label(head), graph.entities.label(tail)
    paths = sorted(path_sentences(graph, examples.rules, head, tail), key=lambda path: -path[1])
    return {
        "link": link_sentences(graph, head, tail) or [f"no edge joins {first} and {last}"],
        "path": [sentence for sentence, _ in paths[:MAX_NAMED]] or ["no path that examples share"],
        "common": common_sentences(index, head, tail) or ["no neighbor in common"],
        "walk": [walk_sentence(index, head, tail)],
        "support": support_sentences(graph, examples.support, tail) or ["no example has it"],
        "similarity": [f"how similar {last} is to the tails of the examples"],
        "text": [f"how similar the name of {last} is to those of the examples' tails and of {first}"],
    }


def link_sentences(graph: KnowledgeGraph, head: int, tail: int) -> list[str]:
    """Name each edge between the two."""
    relations, entities = graph.adjacency.edges(head)
    return [_edge_text(graph, head, int(link), tail) for link in relations[entities == tail]]


def _edge_text(graph: KnowledgeGraph, head: int, relation: int, tail: int) -> str:
    if graph.is_inverse(relation):
        return _edge_text(graph, tail, graph.inverse(relation), head)
    first, last = graph.entities.label(head), graph.entities.label(tail)
    return f"the graph says: {first} “{graph.relation_label(relation)}” {last}"


def path_sentences(graph: KnowledgeGraph, rules: PathRules, head: int, tail: int) -> list[tuple[str, float]]:
    """Name the paths that lead from the head to the tail and that examples share, each with the rule's weight."""
    walks = walk(graph, head, rules.path_types)
    places = np.searchsorted(rules.path_types, walks.path_types[walks.ends == tail])
    return [(_path_text(graph, int(rules.path_types[place])), float(rules.weights[place])) for place in places]


def _path_text(graph: KnowledgeGraph, path_type: int) -> str:
    steps = (_step_text(graph, step) for step in PathTypes.of(graph).decode(path_type))
    return "examples share the path: " + ", then ".join(steps)


def _step_text(graph: KnowledgeGraph, relation: int) -> str:
    return f"“{graph.relations.label(graph.base(relation))}”" + " backwards" * graph.is_inverse(relation)


def common_sentences(index: EvidenceIndex, head: int, tail: int) -> list[str]:
    """Name the common neighbors with the fewest edges."""
    graph = index.graph
    middles = index.pairs.common(np.array([head]), np.array([tail])).middles
    rarest = middles[np.lexsort([middles, graph.degrees[middles]])][:MAX_NAMED]
    return [f"both are next to {graph.entities.label(middle)}" for middle in rarest.tolist()]


def walk_sentence(index: EvidenceIndex, head: int, tail: int) -> str:
    """Name the walk of three steps that weighs most."""
    walked = index.plain.walks.heaviest(head, tail)
    if walked is None:
        return "no three steps lead to it"
    first, second = (index.graph.entities.label(entity) for entity in walked)
    return f"three steps lead to it, by way of {first} and {second}"


def support_sentences(graph: KnowledgeGraph, support: IntArray, tail: int) -> list[str]:
    """Name the examples with this tail."""
    heads = support[support[:, 1] == tail, 0]
    return [f"the example {graph.entities.label(head)} has this answer" for head in heads]


def degree_sentence(graph: KnowledgeGraph, tail: int) -> str:
    """Name the number of edges."""
    return f"{graph.entities.label(tail)} has {graph.degrees[tail]:,} edges"
