"""Evidence in words: the links, paths, neighbors, walks and examples that speak for a tail, and where they are.

Each text is a statement that can follow "because" or "although".
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from tripleshot.arrays import IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.pair_evidence import Examples
from tripleshot.methods.evidence.path_rules import PathRules, PathTypes, walk
from tripleshot.methods.protocol import Reason

MAX_NAMED = 3  # links, kinds of path, common neighbors, or examples

Paths = tuple[Connection, ...]
Pairs = tuple[tuple[int, int], ...]


def describe_evidence(
    index: EvidenceIndex, examples: Examples, head: int, tail: int, weights: Mapping[str, float]
) -> list[Reason]:
    """Return a reason for each kind of evidence that has a weight; what is missing, such as a link, is said as well."""
    graph = index.graph
    last, between = graph.entities.label(tail), f"{graph.entities.label(head)} and {graph.entities.label(tail)}"
    links = find_links(graph, head, tail)
    unlinked = f"{last} is what is asked about" if head == tail else f"no edge joins {between}"
    rules = joining_rules(graph, examples.rules, head, tail)[:MAX_NAMED]
    path_types = [path_type for path_type, _ in rules]
    paths = tuple(path for path_type in path_types for path in find_paths(graph, path_type, head, tail)[:1])
    common, ruled = find_common(index, head, tail), find_ruled_walk(index, examples, head, tail)
    walks = ruled or find_walk(index, head, tail)
    walked = ruled_walk_text if ruled else walk_text
    given = examples_of(examples.support, tail)
    compared = {kind: f"looks {'right' if weight > 0 else 'wrong'} beside" for kind, weight in weights.items()}
    found: dict[str, tuple[str, Paths, Pairs]] = {
        "link": (link_text(graph, links) if links else unlinked, links, ()),
        "path": (
            path_text(graph, path_types)
            if rules
            else f"no path of one or two steps that examples share joins {between}",
            paths,
            (),
        ),
        "common": (common_text(graph, common) if common else f"no neighbor is common to {between}", common, ()),
        "walk": (walked(graph, walks[0]) if walks else f"no path of three steps joins {between}", walks, ()),
        "support": (support_text(graph, given) if given else "no example has this answer", (), given),
        "similarity": (f"{last} {compared.get('similarity')} the answers of the examples", (), ()),
        "type": (type_text(index, examples.support, tail), (), ()),
        "text": (f"the name of {last} {compared.get('text')} those of the examples", (), ()),
    }
    told = ((kind, *found[kind]) for kind in found if kind in weights)
    return [Reason(kind, text, weights[kind], paths, pairs) for kind, text, paths, pairs in told]


def find_links(graph: KnowledgeGraph, head: int, tail: int) -> Paths:
    """Return each edge between the two, in file order."""
    relations, entities = graph.adjacency.edges(head)
    return tuple(Connection((relation,), (head, tail)) for relation in relations[entities == tail].tolist())


def link_text(graph: KnowledgeGraph, links: Paths) -> str:
    """Tell edges as their triples say them."""
    return f"the graph says: {_listing([_edge_text(graph, link) for link in links[:MAX_NAMED]])}"


def _edge_text(graph: KnowledgeGraph, link: Connection) -> str:
    ((relation,), ends) = link.relations, link.entities
    first, last = ends[::-1] if graph.is_inverse(relation) else ends
    return f"{graph.entities.label(first)} “{graph.relation_label(graph.base(relation))}” {graph.entities.label(last)}"


def joining_rules(graph: KnowledgeGraph, rules: PathRules, head: int, tail: int) -> list[tuple[int, float]]:
    """Return the path types that lead from the head to the tail and that examples share, the weightiest first."""
    walks = walk(graph, head, rules.path_types)
    places = np.searchsorted(rules.path_types, walks.path_types[walks.ends == tail])
    found = zip(rules.path_types[places].tolist(), rules.weights[places].tolist(), strict=True)
    return sorted(found, key=lambda rule: -rule[1])


def path_text(graph: KnowledgeGraph, path_types: Sequence[int]) -> str:
    """Tell path types by the relations of their steps."""
    types = PathTypes.of(graph)
    named = (_steps_text(graph, types.decode(one)) for one in path_types)
    return f"examples share the path{'s' * (len(path_types) > 1)}: {'; '.join(named)}"


def _steps_text(graph: KnowledgeGraph, relations: Sequence[int]) -> str:
    return ", then ".join(_step_text(graph, relation) for relation in relations)


def _step_text(graph: KnowledgeGraph, relation: int) -> str:
    return f"“{graph.relations.label(graph.base(relation))}”" + " backwards" * graph.is_inverse(relation)


def find_paths(graph: KnowledgeGraph, path_type: int, head: int, tail: int) -> Paths:
    """Return where a path type leads from the head to the tail, through the entities with the fewest edges first."""
    steps = PathTypes.of(graph).decode(path_type)
    if len(steps) == 1:
        return (Connection(steps, (head, tail)),)
    begun, ended = (
        entities[relations == step]
        for step, (relations, entities) in (
            (steps[0], graph.adjacency.edges(head)),
            (graph.inverse(steps[1]), graph.adjacency.edges(tail)),
        )
    )
    middles = _rarest(graph, np.intersect1d(begun, ended))
    return tuple(Connection(steps, (head, middle, tail)) for middle in middles)


def find_common(index: EvidenceIndex, head: int, tail: int) -> Paths:
    """Return a path through each of the common neighbors with the fewest edges."""
    middles = index.pairs.common(np.array([head]), np.array([tail])).middles
    return tuple(_join(index.graph, head, middle, tail) for middle in _rarest(index.graph, middles))


def common_text(graph: KnowledgeGraph, paths: Paths) -> str:
    """Name the entities that paths of two steps go through."""
    return f"both are next to {_listing([graph.entities.label(path.entities[1]) for path in paths])}"


def find_ruled_walk(index: EvidenceIndex, examples: Examples, head: int, tail: int) -> Paths:
    """Return the most probable walk of the weightiest rule of three steps that leads to the tail, if any does."""
    walked = index.plain.rule_walks.best_walk(examples.walk_rules, head, tail)
    return () if walked is None else (walked,)


def ruled_walk_text(graph: KnowledgeGraph, path: Connection) -> str:
    """Tell the relations that examples share, and the two entities on the way."""
    first, second = (graph.entities.label(entity) for entity in path.entities[1:-1])
    return f"examples share the path: {_steps_text(graph, path.relations)}, by way of {first} and {second}"


def find_walk(index: EvidenceIndex, head: int, tail: int) -> Paths:
    """Return the walk of three steps that weighs most whatever its relations, if there is any."""
    walked = index.plain.walks.heaviest(head, tail)
    return () if walked is None else (_join(index.graph, head, *walked, tail),)


def walk_text(graph: KnowledgeGraph, path: Connection) -> str:
    """Name the two entities on the way."""
    first, second = (graph.entities.label(entity) for entity in path.entities[1:-1])
    return f"three steps lead to it, by way of {first} and {second}"


def examples_of(support: IntArray, tail: int) -> Pairs:
    """Return the examples with this tail."""
    return tuple((int(first), int(last)) for first, last in support[support[:, 1] == tail].tolist())


def support_text(graph: KnowledgeGraph, examples: Pairs) -> str:
    """Name the heads of examples that share a tail."""
    heads = [graph.entities.label(head) for head, _ in examples]
    named = heads if len(heads) <= MAX_NAMED else [*heads[: MAX_NAMED - 1], f"{len(heads) - MAX_NAMED + 1} more"]
    return f"the example{'s' * (len(heads) > 1)} {_listing(named)} {'have' if len(heads) > 1 else 'has'} this answer"


def type_text(index: EvidenceIndex, support: IntArray, tail: int) -> str:
    """Tell whether a tail is of the kind of the examples' tails, and of which."""
    types, label = index.types.types, index.graph.entities.label(tail)
    own, others = types.of(np.array([tail])), support[:, 1]
    shared = np.intersect1d(own, types.of(others))
    if not len(shared):
        return f"{label} has no type in common with the answers of the examples"
    num_alike = int(np.any(index.types.compare(np.array([tail]), others) > 0, axis=1).sum())
    named = _listing([f"“{types.names[kind]}”" for kind in shared[:MAX_NAMED].tolist()])
    return f"{label} is of the type {named}, like the answers of {num_alike} of {len(others)} examples"


def degree_text(graph: KnowledgeGraph, tail: int) -> str:
    """Name the number of edges."""
    return f"{graph.entities.label(tail)} has {graph.degrees[tail]:,} edges"


def _rarest(graph: KnowledgeGraph, entities: IntArray) -> list[int]:
    return entities[np.lexsort([entities, graph.degrees[entities]])][:MAX_NAMED].tolist()


def _join(graph: KnowledgeGraph, *entities: int) -> Connection:
    """Return the path along entities, each step by the first edge between the two."""
    relations = []
    for start, end in pairwise(entities):
        leaving, ends = graph.adjacency.edges(start)
        relations.append(int(leaving[np.argmax(ends == end)]))
    return Connection(tuple(relations), entities)


def _listing(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
