"""Training episodes: a support set, queries and wrong answers for one relation (paper, section IV-D)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.datasets.dataset import FewShotDataset, Task, background_tasks
from tripleshot.errors import InputError

Regime = Literal["pre-train", "in-train"]
"""`pre-train` draws episodes from the train tasks alone; `in-train` from the background relations as well."""

ATTEMPTS = 20  # redraws of a wrong answer that happens to be true


@dataclass(frozen=True, eq=False)
class Episode:
    """One relation's support and queries.

    Attributes:
        task: which of the train tasks it is about; -1 for a background relation.
        support: shape (K, 2), head and tail.
        queries: shape (B, 2), true pairs, none of them in the support.
        negatives: shape (B, n), tails that are not known to be true for the query's head.
        weight: how many candidates each of them stands for.
        hidden: id of the relation in the graph, whose edges the contexts must not show; None for one that is not there.
    """

    task: int
    support: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    negatives: npt.NDArray[np.int64]
    weight: float
    hidden: int | None


class EpisodeSampler:
    """Draws episodes; a relation is drawn as often as any other of its kind, whatever its size."""

    def __init__(
        self,
        dataset: FewShotDataset,
        shots: int,
        batch_size: int,
        num_negatives: int = 1,
        regime: Regime = "pre-train",
        background_share: float = 0.5,
    ) -> None:
        """Collect the relations that have enough triples and candidates to be asked about."""
        self.shots, self.batch_size, self.num_negatives = shots, batch_size, num_negatives
        self.num_entities = dataset.graph.num_entities
        edges = {name: index for index, name in enumerate(dataset.graph.relations.names.to_pylist())}

        def prepare(tasks: Iterable[tuple[int, Task]]) -> "list[_Prepared]":
            usable = ((index, task) for index, task in tasks if _is_usable(dataset, task, shots))
            return [_Prepared(dataset, index, task, edges.get(task.name)) for index, task in usable]

        self.tasks = prepare(enumerate(dataset.train))
        self.num_train = len(self.tasks)
        self.background_share = background_share if regime == "in-train" else 0.0
        if regime == "in-train":
            named = {task.name for task in dataset.train}
            self.tasks += prepare((-1, task) for task in background_tasks(dataset.graph) if task.name not in named)
        if not self.tasks:
            raise InputError(f"{dataset.name} has no relation to train on with {shots} examples")
        if not self.num_train:
            self.background_share = 1.0

    def draw(self, chance: np.random.Generator) -> Episode:
        """Draw one episode; queries repeat only where a relation has too few."""
        background = len(self.tasks) > self.num_train and chance.random() < self.background_share
        first, last = (self.num_train, len(self.tasks)) if background else (0, self.num_train)
        task = self.tasks[int(chance.integers(first, last))]
        count = min(self.shots + self.batch_size, len(task.pairs))
        drawn = chance.choice(len(task.pairs), count, replace=False)
        support, rest = drawn[: self.shots], drawn[self.shots :]
        if len(rest) < self.batch_size:
            rest = np.concatenate([rest, chance.choice(rest, self.batch_size - len(rest))])
        queries = task.pairs[rest]
        negatives = self._negatives(task, queries[:, 0], chance)
        weight = len(task.candidates) / self.num_negatives
        return Episode(task.index, task.pairs[support], queries, negatives, weight, task.hidden)

    def _negatives(
        self, task: "_Prepared", heads: npt.NDArray[np.int64], chance: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Draw candidates, and again those that turn out to be true."""
        shape = (len(heads), self.num_negatives)
        negatives = task.candidates[chance.integers(len(task.candidates), size=shape)]
        for _ in range(ATTEMPTS):
            keys = heads[:, None] * self.num_entities + negatives
            places = np.minimum(np.searchsorted(task.known_keys, keys), len(task.known_keys) - 1)
            wrong = np.nonzero(task.known_keys[places] == keys)
            if not len(wrong[0]):
                break
            negatives[wrong] = task.candidates[chance.integers(len(task.candidates), size=len(wrong[0]))]
        return negatives


class _Prepared:
    """A task with what drawing needs: 64-bit pairs, candidates, and known pairs as sorted keys."""

    def __init__(self, dataset: FewShotDataset, index: int, task: Task, hidden: int | None) -> None:
        self.index = index
        self.pairs = task.pairs.astype(np.int64)
        self.candidates = dataset.candidates(task).astype(np.int64)
        self.known_keys = task.known[:, 0].astype(np.int64) * dataset.graph.num_entities + task.known[:, 1]
        self.hidden = hidden


def _is_usable(dataset: FewShotDataset, task: Task, shots: int) -> bool:
    return len(task.pairs) > shots and len(dataset.candidates(task)) > 1
