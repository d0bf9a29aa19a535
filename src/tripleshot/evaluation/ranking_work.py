"""Ranking queries in other processes: each opens the model and the dataset for itself, and ranks heads of tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from tripleshot.datasets.dataset import CandidateMode, FewShotDataset, Split
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import QueryPiece, QueryRanking, RankedPiece, RankingCrew
from tripleshot.methods.protocol import Scorer
from tripleshot.workers.processes import run_in_processes


class ModelSource(Protocol):
    """Where a model and the tasks that it is asked about are: plain data, since it travels to other processes."""

    def open(self) -> tuple[Scorer, FewShotDataset]:
        """Return the model and the dataset."""
        ...


@dataclass(frozen=True)
class RankingWork:
    """What every worker opens.

    Attributes:
        source: of the model and the dataset.
        data_hash: of the dataset as the first process has read it.
        shots: K, the number of examples.
        split: the tasks.
        candidates: as in `evaluate`.
    """

    source: ModelSource
    data_hash: str
    shots: int
    split: Split
    candidates: CandidateMode

    def open(self) -> Callable[[QueryPiece], RankedPiece]:
        """Open model and dataset, and return what ranks a piece."""
        model, dataset = self.source.open()
        if dataset.content_hash != self.data_hash:
            raise InputError(f"{dataset.name}: has changed since the evaluation began")
        return QueryRanking(model, dataset, self.shots, self.split, self.candidates).rank


def ranking_processes(
    source: ModelSource,
    dataset: FewShotDataset,
    shots: int,
    split: Split,
    candidates: CandidateMode = "benchmark",
    *,
    num_workers: int,
) -> RankingCrew:
    """Return worker processes for `evaluate`, which is given the same dataset, shots, split and candidates."""
    work = RankingWork(source, dataset.content_hash, shots, split, candidates)
    return partial(run_in_processes, work, num_workers=num_workers)
