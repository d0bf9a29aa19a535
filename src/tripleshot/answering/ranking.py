"""One question: which entities could be the answer, and which of them score best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.answering.steps import Steps
from tripleshot.arrays import FloatArray, IntArray, is_integer
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
        none: how likely it is that no candidate is right; None where nothing is known about that.
    """

    tails: IntArray
    scores: FloatArray
    confidence: FloatArray | None
    is_known: npt.NDArray[np.bool_]
    num_candidates: int
    none: float | None = None


def as_candidates(chosen: str | Sequence[str]) -> Candidates:
    """Return what somebody has chosen: one of the two words, one type or several."""
    if chosen == "open" or chosen == "all":
        return chosen
    return (chosen,) if isinstance(chosen, str) else tuple(chosen)


def choose_candidates(
    graph: KnowledgeGraph, support: IntArray, chosen: Candidates = "open", asks_for_heads: bool = False
) -> IntArray:
    """Return, sorted, the entities that could be an answer.

    Args:
        graph: that is asked.
        support: shape (K, 2), examples: the entity that is asked about first, then the answer.
        chosen: what could be an answer.
        asks_for_heads: answers are heads of the relation. Without types they are what stands at the beginning of the
            relations that the examples' answers are heads of, as tails are what stands at the end of others.
    """
    if not len(support):
        raise InputError("give at least one example of the relation")
    if chosen == "open" and graph.types is None:
        return _at_the_same_places(graph, support[:, 1], asks_for_heads)
    if chosen == "open":
        return candidates_like(graph, support[:, 1])
    if chosen == "all":
        return np.arange(graph.num_entities)
    if graph.types is None:
        raise InputError("the entities have no types: candidates are 'open' or 'all'")
    ids = graph.types.ids
    for name in chosen:
        if name not in ids:
            raise InputError(f"no entity is of type {name!r}{did_you_mean(name, graph.types.names)}")
    return graph.types.members(np.array([ids[name] for name in chosen], dtype=np.int64))


def count_candidates(graph: KnowledgeGraph, support: IntArray, chosen: Candidates = "open") -> int | None:
    """Return how many entities `choose_candidates` would find at most, from counts alone.

    None if that is not known before it has looked: without types, what is `open` is found by reading every triple.
    """
    if chosen == "all":
        return graph.num_entities
    types = graph.types
    if types is None:
        return None
    if chosen == "open":
        answers = np.unique(support[:, 1])
        num_found = types.count_members(types.of(answers))
        if np.all(types.offsets[answers] < types.offsets[answers + 1]):
            return num_found
        return num_found + int(np.count_nonzero(types.offsets[:-1] == types.offsets[1:]))
    known = [types.ids[name] for name in chosen if name in types.ids]
    return types.count_members(np.array(known, dtype=np.int64))


def _at_the_same_places(graph: KnowledgeGraph, answers: IntArray, asks_for_heads: bool) -> IntArray:
    """Return what stands at the same end of the same relations as one of the answers.

    An answer that never stands at that end counts for the relations that it is at the other end of: otherwise nothing
    but the answers of the examples could be an answer.
    """
    offsets, relations = graph.adjacency.offsets, graph.adjacency.relations
    chosen = set()
    for answer in np.unique(answers).tolist():
        edges = np.unique(relations[offsets[answer] : offsets[answer + 1]])
        is_usual = graph.is_inverse(edges) != asks_for_heads  # an inverse edge leaves a tail
        chosen.update((edges[is_usual] if is_usual.any() else edges).tolist())
    is_tail_of, is_head_of = (np.zeros(max(graph.num_relations, 1), dtype=bool) for _ in range(2))
    for relation in chosen:
        (is_tail_of if graph.is_inverse(relation) else is_head_of)[graph.base(relation)] = True
    tails, heads = graph.tail_ids[is_tail_of[graph.relation_ids]], graph.head_ids[is_head_of[graph.relation_ids]]
    return np.unique(np.concatenate([answers.astype(np.int32), tails, heads]))


def rank_in_slices(
    method: Scorer,
    support: IntArray,
    head: int,
    pool: IntArray,
    k: int,
    include_known: bool = False,
    calibration: Calibration | None = None,
    known: IntArray | None = None,
    slice_size: int | None = None,
) -> Steps[Ranked]:
    """Score a pool of candidates and keep the best; each step scores at most `slice_size` of them, or all at once.

    What is known is certain: the pairs of `known`, shape (n, 2), or what the examples say. Confidence is a matter of
    the others, but what is known beyond the examples is their rival, as where confidence was fitted: beside one answer
    that is clearly best, another is unlikely. Whether there is another one at all is then not known.
    """
    if not (is_integer(k) and k >= 1):
        raise InputError(f"k: expected one answer or more, found {k!r}")
    unknown = exclude_known(support if known is None else known, head, pool)
    said = _answers_in(pool, support, head)
    rivals = said[:0] if known is None else _answers_in(pool, known, head)
    rivals = np.setdiff1d(rivals, said) if len(rivals) else rivals
    tails, num_unknown = np.concatenate([unknown, rivals, said]), len(unknown)
    num_rivals, num_ranked = num_unknown + len(rivals), len(tails) if include_known else num_unknown
    size = slice_size or max(len(tails), 1)
    parts = []
    for start in range(0, max(len(tails), 1), size):
        parts.append(method.score(support, head, tails[start : start + size]))
        yield
    scores = np.concatenate(parts)
    best = _best(scores[:num_ranked], k)
    confidence, none = None, None
    if calibration is not None:
        none = None if len(rivals) else calibration.none_of(scores[:num_unknown])
        confidence = np.ones(len(tails))
        confidence[:num_unknown] = calibration.confidence(scores[:num_rivals])[:num_unknown]
        confidence = confidence[best]
    return Ranked(tails[best], scores[best], confidence, best >= num_unknown, num_ranked, none)


def _answers_in(pool: IntArray, pairs: IntArray, head: int) -> IntArray:
    """Return, sorted, the tails of a head in pairs, shape (n, 2), that are candidates."""
    found = pairs[pairs[:, 0] == head, 1]
    if not len(found):
        return found
    found = np.unique(found)
    return found[np.isin(found, pool)]


def _best(scores: FloatArray, k: int) -> npt.NDArray[np.int64]:
    """Return the places of the highest scores, the first among equals first, without sorting millions."""
    places = np.arange(len(scores))
    if k < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
    return places[np.argsort(-scores[places], kind="stable")][:k]
