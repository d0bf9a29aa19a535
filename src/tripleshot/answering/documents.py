"""Answers and explanations as plain JSON: the one schema of `tripleshot ask --json` and of the server."""

from collections.abc import Sequence
from typing import Any

from tripleshot.answering.explanation import Explanation, WeightedNeighbor
from tripleshot.answering.ranking import Ranked
from tripleshot.answering.text import remarks
from tripleshot.arrays import IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection
from tripleshot.methods.protocol import Reason

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
    about = {"num_candidates": ranked.num_candidates, "none": ranked.none}
    return {side: entity_document(graph, asked), **about, "answers": answers}


def proposal_documents(graph: KnowledgeGraph, heads: IntArray, rankings: Sequence[Ranked]) -> list[Document]:
    """Return the best tails of some heads, each as a triple."""
    return [
        {
            **pair_document(graph, head, answer["entity"]["id"]),
            **{name: answer[name] for name in ("rank", "score", "confidence")},
        }
        for head, ranked in zip(heads.tolist(), rankings, strict=True)
        for answer in ranking_document(graph, head, ranked)["answers"]
    ]


def explanation_document(explanation: Explanation) -> Document:
    """Return everything there is to say about one answer."""
    graph, main = explanation.graph, explanation.main_reasons
    return {
        **pair_document(graph, explanation.head, explanation.tail),
        "asked": explanation.asked_side,
        "relation": explanation.relation,
        "score": explanation.score,
        "summary": explanation.summary,
        "reasons": [_reason_document(graph, reason, reason in main) for reason in explanation.reasons],
        "remarks": remarks(explanation),
        "examples": [
            {
                **pair_document(graph, example.head, example.tail),
                "global_weight": example.global_weight,
                "local_weight": example.local_weight,
            }
            for example in explanation.examples
        ],
        "neighbors": [_neighbor_document(graph, neighbor) for neighbor in explanation.neighbors],
        "connections": [_path_document(graph, connection) for connection in explanation.connections],
        "text": str(explanation),
        "tokens": list(explanation.tokens),
        "attention": None if explanation.attention is None else explanation.attention.tolist(),
    }


def _reason_document(graph: KnowledgeGraph, reason: Reason, is_main: bool) -> Document:
    """Return a reason; the main ones are told and drawn."""
    return {
        "kind": reason.kind,
        "text": reason.text,
        "weight": reason.weight,
        "is_main": is_main,
        "paths": [_path_document(graph, path) for path in reason.paths],
        "examples": [pair_document(graph, *pair) for pair in reason.examples],
    }


def _path_document(graph: KnowledgeGraph, path: Connection) -> Document:
    return {
        "relations": [relation_document(graph, relation) for relation in path.relations],
        "entities": [entity_document(graph, entity) for entity in path.entities],
    }


def pair_document(graph: KnowledgeGraph, head: int, tail: int) -> Document:
    """Return both ends of a triple."""
    return {"head": entity_document(graph, head), "tail": entity_document(graph, tail)}


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
