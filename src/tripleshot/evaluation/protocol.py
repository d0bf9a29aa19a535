"""The protocol: candidates without other known answers, ranks, metrics. It knows no model.

As published since GMatching: per relation, the first K triples are the support and all others are queries; each true
tail is ranked among the candidates that are not known to be true as well; metrics are plain means over all queries.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import SPLITS, CandidateMode, FewShotDataset, Split, Task
from tripleshot.errors import InputError, TripleshotError
from tripleshot.methods.protocol import Scorer

TieRule = Literal["pessimistic", "optimistic", "realistic"]
TIE_RULES: tuple[TieRule, ...] = get_args(TieRule)
HITS_AT = (1, 5, 10)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where the true tails of queries came; one row a query, in protocol order.

    Attributes:
        relations: shape (n,), which relation of `relation_names` a query belongs to.
        heads: shape (n,), the head asked about.
        tails: shape (n,), the true tail.
        optimistic: shape (n,), rank if the true tail comes first among equal scores, 1 is best; infinite when the true
            tail is not among the candidates at all (possible in `open` mode only).
        pessimistic: shape (n,), rank if it comes last among equal scores: the field's rule, and our default.
        num_candidates: shape (n,), how many tails it was ranked among, itself included.
        relation_names: names of the relations, in file order.
    """

    relations: npt.NDArray[np.int32]
    heads: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    optimistic: npt.NDArray[np.float64]
    pessimistic: npt.NDArray[np.float64]
    num_candidates: npt.NDArray[np.int64]
    relation_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tails)

    def by(self, rule: TieRule) -> npt.NDArray[np.float64]:
        """Return the ranks by one tie rule; the realistic one is the mean of the other two."""
        if rule == "optimistic":
            return self.optimistic
        return self.pessimistic if rule == "pessimistic" else (self.optimistic + self.pessimistic) / 2

    def where(self, mask: npt.NDArray[np.bool_]) -> "Ranks":
        """Return the ranks of some queries only."""
        return Ranks(
            self.relations[mask],
            self.heads[mask],
            self.tails[mask],
            self.optimistic[mask],
            self.pessimistic[mask],
            self.num_candidates[mask],
            self.relation_names,
        )


Metrics = dict[str, float]
"""`mrr`, `hits@1`, `hits@5` and `hits@10`, each between 0 and 1."""


@dataclass(frozen=True)
class Summary:
    """Metrics by one tie rule.

    Attributes:
        micro: plain mean over all queries, as published.
        macro: mean over relations, each counting the same.
        relations: by relation name, with the number of `queries`.
    """

    micro: Metrics
    macro: Metrics
    relations: dict[str, dict[str, float | int]]


def metrics(ranks: npt.NDArray[np.float64]) -> Metrics:
    """Return mean reciprocal rank and hits of some ranks."""
    return {"mrr": float(np.mean(1 / ranks)), **{f"hits@{n}": float(np.mean(ranks <= n)) for n in HITS_AT}}


def summarize(ranks: Ranks, rule: TieRule = "pessimistic") -> Summary:
    """Turn ranks into metrics."""
    if not len(ranks):
        raise InputError("there is no query to evaluate")
    by_rule = ranks.by(rule)
    relations: dict[str, dict[str, float | int]] = {}
    for index in np.unique(ranks.relations):
        of_relation = by_rule[ranks.relations == index]
        relations[ranks.relation_names[index]] = {"queries": len(of_relation), **metrics(of_relation)}
    micro = metrics(by_rule)
    macro = {name: float(np.mean([row[name] for row in relations.values()])) for name in micro}
    return Summary(micro, macro, relations)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Ranks of a method on one split, and how long they took to get."""

    ranks: Ranks
    seconds: float


def evaluate(
    method: Scorer,
    dataset: FewShotDataset,
    shots: int,
    split: Split = "test",
    *,
    candidates: CandidateMode = "benchmark",
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Rank every query of a split with a fitted method.

    Args:
        method: anything that keeps the contract, already fitted.
        dataset: where the tasks are.
        shots: K, the number of examples.
        split: which tasks.
        candidates: `benchmark` as published, or `open`, where only the examples decide what is a candidate, and a true
            tail that is none of them counts as never found.
        progress: called with the number of queries done and their total.
    """
    tasks = dataset.tasks(split)
    total = sum(len(task.queries(shots)) for task in tasks)
    if not total:
        raise InputError(f"{dataset.name} has no {split} tasks")
    started = time.perf_counter()
    done = 0

    def advance(queries: int) -> None:
        nonlocal done
        done += queries
        if progress:
            progress(done, total)

    ranked = [
        _rank_task(method, task, shots, dataset.candidates(task, candidates, shots), candidates == "open", advance)
        for task in tasks
    ]
    queries = np.concatenate([task.queries(shots) for task in tasks])
    relations = np.repeat(np.arange(len(tasks), dtype=np.int32), [len(task.queries(shots)) for task in tasks])
    optimistic, pessimistic, sizes = np.concatenate(ranked, axis=1)
    names = tuple(task.name for task in tasks)
    ranks = Ranks(relations, queries[:, 0], queries[:, 1], optimistic, pessimistic, sizes.astype(np.int64), names)
    return Evaluation(ranks, time.perf_counter() - started)


def sample_queries(
    dataset: FewShotDataset, shots: int, count: int, seed: int = 0, split: Split = "valid"
) -> FewShotDataset:
    """Return the dataset with about `count` queries of a split only, whole heads at a time, the same ones for a seed.

    Heads are drawn rather than queries because queries of one head share all their scores. Support, candidates and
    known tails stay as they are. A count of 0 keeps every query.
    """
    if not count:
        return dataset
    tasks = dataset.tasks(split)
    groups = [(index, head) for index, task in enumerate(tasks) for head in np.unique(task.queries(shots)[:, 0])]
    kept: dict[int, list[int]] = {}
    found = 0
    for place in np.random.default_rng(seed).permutation(len(groups)):
        index, head = groups[place]
        if found >= count:
            break
        kept.setdefault(index, []).append(head)
        found += int((tasks[index].queries(shots)[:, 0] == head).sum())
    fewer = tuple(_only_heads(dataset, tasks[index], shots, heads) for index, heads in sorted(kept.items()))
    train, valid, test = (fewer if name == split else dataset.tasks(name) for name in SPLITS)
    return replace(dataset, train=train, valid=valid, test=test)


def _only_heads(dataset: FewShotDataset, task: Task, shots: int, heads: list[int]) -> Task:
    queries = task.queries(shots)
    pairs = np.concatenate([task.support(shots), queries[np.isin(queries[:, 0], heads)]])
    return replace(task, pairs=pairs, given_candidates=dataset.candidates(task))


def _rank_task(
    method: Scorer,
    task: Task,
    shots: int,
    pool: npt.NDArray[np.int32],
    count_missing: bool,
    advance: Callable[[int], None],
) -> npt.NDArray[np.float64]:
    """Return, for each query of a task, its optimistic rank, its pessimistic rank and the number of candidates.

    Queries with the same head share every score: the tails to beat are those not known to be true.
    """
    support, queries = task.support(shots), task.queries(shots)
    ranked = np.empty((3, len(queries)))
    for head in np.unique(queries[:, 0]).tolist():
        positions = np.flatnonzero(queries[:, 0] == head)
        answers = queries[positions, 1]
        rivals = np.setdiff1d(pool, task.known_tails(head), assume_unique=True)
        scores = checked_scores(method, task, support, head, np.concatenate([rivals, answers]))
        ranked[:2, positions] = rank_among(scores[: len(rivals)], scores[len(rivals) :])
        ranked[2, positions] = len(rivals) + 1
        if count_missing:
            ranked[:2, positions[~np.isin(answers, pool)]] = np.inf
        advance(len(answers))
    return ranked


def checked_scores(method: Scorer, task: Task, support: IntArray, head: int, tails: IntArray) -> FloatArray:
    """Ask a method for scores and refuse what cannot be ranked: a wrong shape or NaN."""
    scores = np.asarray(method.score(support, head, tails))
    if scores.shape != tails.shape:
        raise TripleshotError(f"the method returned scores of shape {scores.shape} for {len(tails)} tails")
    if np.isnan(scores).any():
        raise TripleshotError(f"the method returned NaN for relation {task.name!r}, head id {head}")
    return scores


def rank_among(rivals: FloatArray, answers: FloatArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the optimistic and the pessimistic rank of each answer's score among its rivals' scores."""
    ordered = np.sort(rivals)
    not_better = np.searchsorted(ordered, answers, side="right")
    worse = np.searchsorted(ordered, answers, side="left")
    return 1 + len(rivals) - not_better, 1 + len(rivals) - worse
