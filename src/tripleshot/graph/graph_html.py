"""A graph as a notebook shows it: its size, its most frequent relations and some of its triples."""

from typing import TYPE_CHECKING

import numpy as np

from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.markup import Markup, bar, block, heading, name, note, table

if TYPE_CHECKING:
    from tripleshot.graph.knowledge_graph import KnowledgeGraph

MAX_RELATIONS, MAX_TRIPLES = 8, 5


def graph_html(graph: "KnowledgeGraph") -> str:
    """Lay out a graph."""
    counts = np.bincount(graph.relation_ids, minlength=graph.num_relations)
    most = np.argsort(-counts, kind="stable")[:MAX_RELATIONS].tolist()
    relations = [
        (named(graph.relations, relation), bar(counts[relation] / max(counts.max(), 1), f"{counts[relation]:,}"))
        for relation in most
    ]
    columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
    triples = zip(*(column[:MAX_TRIPLES].tolist() for column in columns), strict=True)
    rows = [
        (named(graph.entities, head), named(graph.relations, relation), named(graph.entities, tail))
        for head, relation, tail in triples
    ]
    rest = graph.num_relations - len(most)
    more = [note(f"and {rest:,} more relations")] if rest else []
    return block(
        heading(graph_sizes(graph)),
        *([table(("relation", "triples"), relations), *more] if relations else []),
        *([table(("head", "relation", "tail"), rows), note("the first triples")] if rows else []),
    )


def graph_sizes(graph: "KnowledgeGraph") -> str:
    """Return how large a graph is, in words."""
    types = "" if graph.types is None else f", {len(graph.types.names):,} types"
    sizes = f"{graph.num_entities:,} entities, {graph.num_relations:,} relations, {graph.num_triples:,} triples"
    return f"{sizes}{types}"


def named(vocabulary: Vocabulary, number: int) -> Markup:
    """Return the label of an entity or a relation, with its name where the mouse rests."""
    return name(vocabulary.label(number), vocabulary.name(number))
