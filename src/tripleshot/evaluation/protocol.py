"""The protocol: candidates without other known answers, and the ranks of true answers among them. It knows no model.

As published since GMatching: per relation, the first K triples are the support and all others are queries; each true
tail is ranked among the candidates that are not known to be true as well; metrics are plain means over all queries.
"""

import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import SPLITS, CandidateMode, FewShotDataset, Split, Task
from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.evaluation_html import evaluation_html
from tripleshot.evaluation.ranks import HITS_AT, Ranks, Summary, rank_among, summarize
from tripleshot.methods.protocol import ComparesCandidates, Scorer
from tripleshot.tables import Tabular

logger = logging.getLogger(__name__)

HEADS_PER_PIECE = 16  # of a worker: some hundred milliseconds, so that all end at about the same time


@dataclass(frozen=True)
class QueryPiece:
    """Some queries of a split, to be ranked by whoever is free.

    Attributes:
        task: its number in the split.
        first: where the queries of the task begin among all.
        heads: ids; all queries of the task about them.
    """

    task: int
    first: int
    heads: tuple[int, ...]


RankedPiece: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Where queries stand among all, shape (n,), and their ranks and numbers of candidates, shape (3, n)."""
RankingCrew: TypeAlias = Callable[[Sequence[QueryPiece]], Generator[RankedPiece, None, None]]
"""Ranks every piece, and gives the ranks as they come, in any order."""


@dataclass(frozen=True, eq=False)
class Evaluation(Tabular):
    """How well a model ranks the true tails of one split; it prints as a table.

    Metrics count equal scores against the true tail, as the field does; `summarize(evaluation.ranks, rule)` has the
    other rules.

    Attributes:
        dataset: whose tasks were asked about.
        split: which of them.
        shots: K, the number of examples.
        ranks: of the true tail of every query.
        seconds: that ranking took.
    """

    dataset: FewShotDataset
    split: Split
    shots: int
    ranks: Ranks
    seconds: float

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank over all queries, between 0 and 1."""
        return self.summary.micro["mrr"]

    def hits(self, k: int) -> float:
        """Return the share of queries whose true tail is among the first k, between 0 and 1."""
        if k < 1:
            raise InputError(f"k must be 1 or more, not {k}")
        return float(np.mean(self.ranks.pessimistic <= k))

    @property
    def by_relation(self) -> dict[str, dict[str, float | int]]:
        """The number of `queries`, `mrr`, `hits@1`, `hits@5` and `hits@10` of each relation, by its name."""
        return self.summary.relations

    @cached_property
    def summary(self) -> Summary:
        """All metrics: means over queries (`micro`), over relations (`macro`), and of each relation."""
        return summarize(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)

    def __str__(self) -> str:
        about = f"{self.dataset.name} {self.split}, {self.shots} shots, {len(self):,} queries, {self.seconds:.1f} s"
        rows = {**self.by_relation, "mean of relations": self.summary.macro, "mean of queries": self.summary.micro}
        width = max(map(len, rows))
        names = ("mrr", *(f"hits@{n}" for n in reversed(HITS_AT)))
        lines = [about, " ".join(["relation".ljust(width), "queries".rjust(8), *(name.rjust(8) for name in names)])]
        for relation, row in rows.items():
            queries = f"{row['queries']:8,}" if "queries" in row else " " * 8
            lines.append(" ".join([relation.ljust(width), queries, *(f"{row[name]:8.3f}" for name in names)]))
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a table with the metrics of each relation, as a notebook shows it; names are escaped."""
        return evaluation_html(self)

    def to_arrow(self) -> pa.Table:
        """Return one row per query: relation, head, tail, optimistic and pessimistic rank, number of candidates."""
        ranks, names = self.ranks, self.dataset.graph.entities.names
        return pa.table(
            {
                "relation": pa.array(ranks.relation_names).take(pa.array(ranks.relations)),
                "head": names.take(pa.array(ranks.heads)),
                "tail": names.take(pa.array(ranks.tails)),
                "optimistic": ranks.optimistic,
                "pessimistic": ranks.pessimistic,
                "candidates": ranks.num_candidates,
            }
        )


def evaluate(
    model: Scorer,
    dataset: FewShotDataset | str | Path,
    shots: int | None = None,
    split: Split = "test",
    *,
    candidates: CandidateMode = "benchmark",
    progress: Callable[[int, int], None] | None = None,
    crew: RankingCrew | None = None,
) -> Evaluation:
    """Rank the true tail of every query of a split.

    Args:
        model: what `train`, `load` and `Predictor` give, or any method that is prepared or trained for the dataset.
        dataset: where the tasks are, or its name or folder.
        shots: K, the number of examples; None takes what the model was trained for.
        split: which tasks.
        candidates: `benchmark` as published, or `open`, where only the examples decide what is a candidate, and a true
            tail that is none of them counts as never found.
        progress: called with the number of queries done and their total.
        crew: ranks the queries, a piece at a time; None ranks them here with the model.
    """
    dataset = dataset if isinstance(dataset, FewShotDataset) else load_dataset(str(dataset))
    _check_model(model, dataset)
    shots = getattr(model, "shots", None) if shots is None else shots
    if shots is None:
        raise InputError("shots: say how many examples of each relation are given; the model does not know")
    if candidates not in get_args(CandidateMode):
        raise InputError(f"candidates must be one of {', '.join(get_args(CandidateMode))}, not {candidates!r}")
    tasks = dataset.tasks(split)
    total = count_queries(dataset, shots, split)
    started = time.perf_counter()
    pieces = split_queries(dataset, shots, split, 1 if crew is None else HEADS_PER_PIECE)
    ranking = QueryRanking(model, dataset, shots, split, candidates)
    ranked, done = np.empty((3, total)), 0
    with closing((ranking.rank(piece) for piece in pieces) if crew is None else crew(pieces)) as results:
        for places, ranks in results:
            ranked[:, places] = ranks
            done += len(places)
            if progress:
                progress(done, total)
    queries = np.concatenate([task.queries(shots) for task in tasks])
    relations = np.repeat(np.arange(len(tasks), dtype=np.int32), [len(task.queries(shots)) for task in tasks])
    optimistic, pessimistic, sizes = ranked
    names = tuple(task.name for task in tasks)
    ranks = Ranks(relations, queries[:, 0], queries[:, 1], optimistic, pessimistic, sizes.astype(np.int64), names)
    seconds = time.perf_counter() - started
    logger.debug("ranked %d queries of %s %s, %d-shot, in %.1f s", total, dataset.name, split, shots, seconds)
    return Evaluation(dataset, split, shots, ranks, seconds)


def _check_model(model: Scorer, dataset: FewShotDataset) -> None:
    """Refuse what cannot score, and what is prepared for a graph in which ids mean other entities."""
    if not callable(getattr(model, "score", None)):
        raise InputError(f"model: give what train returns or a prepared method, not {model!r}")
    graph = getattr(model, "graph", dataset.graph)
    if graph.entities is not dataset.graph.entities and not graph.entities.names.equals(dataset.graph.entities.names):
        raise InputError(f"model: it is prepared for another graph, whose entities are not those of {dataset.name}")


def count_queries(dataset: FewShotDataset, shots: int, split: Split = "test") -> int:
    """Return how many queries a split has; a split or a number of examples that leaves none is an error."""
    tasks = dataset.tasks(split)
    if not tasks:
        raise InputError(f"{dataset.name} has no {split} tasks")
    return sum(len(task.queries(shots)) for task in tasks)


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


def split_queries(dataset: FewShotDataset, shots: int, split: Split, heads_per_piece: int) -> list[QueryPiece]:
    """Take the queries of a split apart, whole heads at a time: queries of the same head share every score."""
    pieces, first = [], 0
    for number, task in enumerate(dataset.tasks(split)):
        heads = np.unique(task.queries(shots)[:, 0]).tolist()
        starts = range(0, len(heads), heads_per_piece)
        pieces += [QueryPiece(number, first, tuple(heads[start : start + heads_per_piece])) for start in starts]
        first += len(task.queries(shots))
    return pieces


@dataclass(frozen=True, eq=False)
class QueryRanking:
    """Ranks the queries of some heads of a split; the arguments are those of `evaluate`."""

    model: Scorer
    dataset: FewShotDataset
    shots: int
    split: Split
    candidates: CandidateMode

    def rank(self, piece: QueryPiece) -> RankedPiece:
        """Return where the queries stand among all, and three ranks of each, as `rank_head` has them."""
        task = self.dataset.tasks(self.split)[piece.task]
        support, queries, pool = task.support(self.shots), task.queries(self.shots), self._pool(piece.task)
        places, ranks = [], []
        for head in piece.heads:
            positions = np.flatnonzero(queries[:, 0] == head)
            answers = queries[positions, 1]
            ranked = rank_head(self.model, task, support, head, answers, pool)
            if self.candidates == "open":
                ranked[:2, ~np.isin(answers, pool)] = np.inf
            places.append(positions + piece.first)
            ranks.append(ranked)
        return np.concatenate(places), np.concatenate(ranks, axis=1)

    def _pool(self, task: int) -> npt.NDArray[np.int32]:
        if task not in self._pools:
            self._pools.clear()  # pieces come task by task
            self._pools[task] = self.dataset.candidates(
                self.dataset.tasks(self.split)[task], self.candidates, self.shots
            )
        return self._pools[task]

    @cached_property
    def _pools(self) -> dict[int, npt.NDArray[np.int32]]:
        return {}


def rank_head(
    method: Scorer, task: Task, support: IntArray, head: int, answers: IntArray, pool: IntArray
) -> npt.NDArray[np.float64]:
    """Return optimistic rank, pessimistic rank and number of candidates of each true answer for a head."""
    if isinstance(method, ComparesCandidates):
        method.compare_among(support, pool)
    rivals = np.setdiff1d(pool, task.known_tails(head), assume_unique=True)
    scores = checked_scores(method, task, support, head, np.concatenate([rivals, answers]))
    ranks = rank_among(scores[: len(rivals)], scores[len(rivals) :])
    return np.stack([*ranks, np.full(len(answers), len(rivals) + 1)]).astype(np.float64)


def checked_scores(method: Scorer, task: Task, support: IntArray, head: int, tails: IntArray) -> FloatArray:
    """Ask a method for scores and refuse what cannot be ranked: a wrong shape or NaN."""
    scores = np.asarray(method.score(support, head, tails))
    if scores.shape != tails.shape:
        raise TripleshotError(f"the method returned scores of shape {scores.shape} for {len(tails)} tails")
    if np.isnan(scores).any():
        raise TripleshotError(f"the method returned NaN for relation {task.name!r}, head id {head}")
    return scores
