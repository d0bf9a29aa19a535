"""One question: which entities could be the answer, and which of them score best."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import candidates_like, exclude_known
from tripleshot.errors import InputError, did_you_mean
from tripleshot.evaluation.calibration import Calibration
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.protocol import Scorer

Candidates = Literal["open", "all"] | tuple[str, ...]
"""`open`: entities that could stand where the tails of the examples stand; `all` entities; or those of given types."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The best tails of one question, best first; each array has shape (n,).

    Attributes:
        confidence: None without a calibration.
        num_candidates: how many tails were ranked.
    """

    tails: IntArray
    scores: FloatArray
    confidence: FloatArray | None
    is_known: npt.NDArray[np.bool_]
    num_candidates: int


def choose_candidates(graph: KnowledgeGraph, support: IntArray, chosen: Candidates = "open") -> IntArray:
    """Return, sorted, the entities that could be an answer."""
    if not len(support):
        raise InputError("give at least one example of the relation")
    if chosen == "open":
        return candidates_like(graph, support[:, 1])
    if chosen == "all":
        return np.arange(graph.num_entities)
    if graph.types is None:
        raise InputError("the entities have no types: candidates are 'open' or 'all'")
    for name in (chosen := tuple(dict.fromkeys(chosen))):
        if name not in graph.types.names:
            raise InputError(f"no entity is of type {name!r}{did_you_mean(name, graph.types.names)}")
    return graph.types.members(np.array([graph.types.names.index(name) for name in chosen], dtype=np.int64))


def rank_tails(
    method: Scorer,
    support: IntArray,
    head: int,
    pool: IntArray,
    k: int,
    include_known: bool = False,
    calibration: Calibration | None = None,
) -> Ranked:
    """Score a pool of candidates and keep the best.

    Confidence is a matter of the candidates that are not known yet; what the examples say is certain.
    """
    if k < 1:
        raise InputError(f"k: expected one answer or more, found {k}")
    tails = exclude_known(support, head, pool)
    num_unknown = len(tails)
    if include_known:
        said = np.unique(support[support[:, 0] == head, 1])
        tails = np.concatenate([tails, said[np.isin(said, pool)]])
    scores = method.score(support, head, tails)
    best = _best(scores, k)
    confidence = None
    if calibration is not None:
        confidence = np.ones(len(tails))
        confidence[:num_unknown] = calibration.confidence(scores[:num_unknown])
        confidence = confidence[best]
    return Ranked(tails[best], scores[best], confidence, best >= num_unknown, len(tails))


def _best(scores: FloatArray, k: int) -> npt.NDArray[np.int64]:
    """Return the places of the highest scores, the first among equals first, without sorting millions."""
    places = np.arange(len(scores))
    if k < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
    return places[np.argsort(-scores[places], kind="stable")][:k]
