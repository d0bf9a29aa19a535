"""K examples of a new relation and a head: ranked tails, with reasons where the method can give them."""

from dataclasses import dataclass

import numpy as np

from tripleshot.csr import IntArray
from tripleshot.dataset import candidates_like
from tripleshot.graph import KnowledgeGraph
from tripleshot.method import ExplainingMethod, Method, Reason


@dataclass(frozen=True)
class Answer:
    """A tail that the method proposes.

    Attributes:
        rank: 1 for the best.
        entity: the tail's id.
        label: what to show a person.
        score: the method's own score; comparable within one question only.
        reasons: what spoke for it, the weightiest first; empty when the method cannot say.
    """

    rank: int
    entity: int
    label: str
    score: float
    reasons: tuple[Reason, ...]


def answer(method: Method, graph: KnowledgeGraph, support: IntArray, head: int, top: int = 10) -> list[Answer]:
    """Rank tails for a head, given examples of a relation.

    Candidates are the entities that could stand where the tails of the examples stand; what the examples already say
    about this head, and the head itself, are left out.
    """
    said = support[support[:, 0] == head, 1]
    tails = np.setdiff1d(candidates_like(graph, support[:, 1]), np.append(said, head))
    scores = method.score(support, head, tails)
    best = np.argsort(-scores, kind="stable")[:top]
    return [
        Answer(
            rank,
            int(tails[place]),
            graph.entities.label(int(tails[place])),
            float(scores[place]),
            tuple(method.explain(support, head, int(tails[place]))) if isinstance(method, ExplainingMethod) else (),
        )
        for rank, place in enumerate(best, start=1)
    ]
