"""Small graphs for tests, made the plain way."""

import numpy as np

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary


def make_graph(triples: list[tuple[str, str, str]], types: dict[str, str] | None = None) -> KnowledgeGraph:
    """Make a graph the plain way: ids by first appearance, heads before tails."""
    entities = list(dict.fromkeys([h for h, _, _ in triples] + [t for _, _, t in triples]))
    relations = list(dict.fromkeys(r for _, r, _ in triples))
    columns = zip(*[(entities.index(h), relations.index(r), entities.index(t)) for h, r, t in triples], strict=True)
    head_ids, relation_ids, tail_ids = (np.array(column) for column in columns)
    graph = KnowledgeGraph(
        Vocabulary.of("entity", entities), Vocabulary.of("relation", relations), head_ids, relation_ids, tail_ids
    )
    if types is None:
        return graph
    typed = [name for name in entities if name in types]
    pairs = EntityTypes.from_pairs(graph.entities.ids(typed), [types[name] for name in typed], len(entities))
    return graph.with_types(pairs)


def graph_of_ids(triples: list[tuple[int, int, int]], num_entities: int, num_relations: int) -> KnowledgeGraph:
    """Make a graph from triples of ids: parallel edges, loops and entities without any triple are welcome."""
    head_ids, relation_ids, tail_ids = np.array(triples, dtype=np.int32).reshape(-1, 3).T
    entities = Vocabulary.of("entity", [f"e{number}" for number in range(num_entities)])
    relations = Vocabulary.of("relation", [f"r{number}" for number in range(num_relations)])
    return KnowledgeGraph(entities, relations, head_ids, relation_ids, tail_ids)
