"""Answers and explanations as plain JSON: the one schema of `tripleshot ask --json` and of the server."""

from typing import Any

from tripleshot.answering.explanation import Explanation, WeightedNeighbor
from tripleshot.answering.ranking import Ranked
from tripleshot.graph.knowledge_graph import KnowledgeGraph

Document = dict[str, Any]


def entity_document(graph: KnowledgeGraph, entity: int) -> Document:
    """Return an entity's id, name and label."""
    return {"id": entity, "name": graph.entities.name(entity), "label": graph.entities.label(entity)}


def relation_document(graph: KnowledgeGraph, relation: int) -> Document:
    """Return a relation's id, name and label, and whether it is read from tail to head."""
    base = int(graph.base(relation))
    return {
        "id": base,
        "name": graph.relations.name(base),
        "label": graph.relations.label(base),
        "is_inverse": bool(graph.is_inverse(relation)),
    }


def ranking_document(graph: KnowledgeGraph, asked: int, ranked: Ranked, side: str = "head") -> Document:
    """Return the best answers for one entity that was asked about, under the name of its side of the relation."""
    confidence = [None] * len(ranked.tails) if ranked.confidence is None else ranked.confidence.tolist()
    rows = zip(ranked.tails.tolist(), ranked.scores.tolist(), confidence, ranked.is_known.tolist(), strict=True)
    answers = [
        {
            "rank": rank,
            "entity": entity_document(graph, entity),
            "score": float(score),
            "confidence": share,
            "is_known": is_known,
        }
        for rank, (entity, score, share, is_known) in enumerate(rows, start=1)
    ]
    return {side: entity_document(graph, asked), "num_candidates": ranked.num_candidates, "answers": answers}


def explanation_document(explanation: Explanation) -> Document:
    """Return everything there is to say about one answer."""
    graph = explanation.graph
    return {
        "head": entity_document(graph, explanation.head),
        "tail": entity_document(graph, explanation.tail),
        "score": explanation.score,
        "examples": [
            {
                "head": entity_document(graph, example.head),
                "tail": entity_document(graph, example.tail),
                "global_weight": example.global_weight,
                "local_weight": example.local_weight,
            }
            for example in explanation.examples
        ],
        "neighbors": [_neighbor_document(graph, neighbor) for neighbor in explanation.neighbors],
        "connections": [
            {
                "relations": [relation_document(graph, relation) for relation in connection.relations],
                "entities": [entity_document(graph, entity) for entity in connection.entities],
            }
            for connection in explanation.connections
        ],
        "reasons": [vars(reason) for reason in explanation.reasons],
        "text": str(explanation),
        "tokens": list(explanation.tokens),
        "attention": None if explanation.attention is None else explanation.attention.tolist(),
    }


def _neighbor_document(graph: KnowledgeGraph, neighbor: WeightedNeighbor) -> Document:
    return {
        "side": neighbor.side,
        "hops": neighbor.hops,
        "relation": relation_document(graph, neighbor.relation),
        "entity": entity_document(graph, neighbor.entity),
        "through": None if neighbor.through is None else entity_document(graph, neighbor.through),
        "local_weight": neighbor.local_weight,
        "attention": neighbor.attention,
    }
