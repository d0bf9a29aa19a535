"""Validations that can be cut short: valid queries are ranked in a fixed random order, for as long as there is time.

Which of two trained networks is better can only be said on queries that both were asked. So the order is the same each
time, and a validation that had less time is compared on the queries that it came to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.evaluation.protocol import count_queries, evaluate, rank_head
from tripleshot.methods.protocol import Scorer

FIRST_SLICE = 8  # heads; each slice is twice as long as the one before


@dataclass(frozen=True, eq=False)
class Validation:
    """How well a method does on valid queries.

    Attributes:
        reciprocal_ranks: shape (num_queries,), of all queries that there are; 0 for those that were not asked.
        num_heads: how many heads were asked about.
    """

    reciprocal_ranks: FloatArray
    num_heads: int

    @property
    def num_asked(self) -> int:
        """How many queries were asked."""
        return int(np.count_nonzero(self.reciprocal_ranks))

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank over the queries that were asked."""
        return float(np.mean(self.reciprocal_ranks[self.reciprocal_ranks > 0]))

    def is_better_than(self, reciprocal_ranks: FloatArray) -> bool:
        """Compare with another validation's reciprocal ranks, on the queries that both were asked."""
        both = (self.reciprocal_ranks > 0) & (reciprocal_ranks > 0)
        return float(np.mean(self.reciprocal_ranks[both])) > float(np.mean(reciprocal_ranks[both]))


@dataclass(frozen=True, eq=False)
class _Head:
    """The queries of one head: the task's index, the head, where among all queries they are, and their answers."""

    task: int
    head: int
    positions: IntArray
    answers: IntArray


class Validator:
    """Ranks the queries of a dataset's valid tasks again and again, all of them or as many as there is time for."""

    def __init__(self, method: Scorer, dataset: FewShotDataset, shots: int, seed: int = 0) -> None:
        """Draw the order of the heads.

        Args:
            method: to validate; its weights change between validations.
            dataset: where the valid tasks are.
            shots: K.
            seed: of the order.
        """
        self.method, self.dataset, self.shots = method, dataset, shots
        heads = list(_heads_of(dataset.valid, shots))
        drawn = np.random.default_rng(seed).permutation(len(heads))
        self._order = list(_in_slices([heads[place] for place in drawn]))
        self._pools: dict[int, IntArray] = {}

    def validate(self, num_heads: int = 0, is_over: Callable[[], bool] | None = None) -> Validation:
        """Rank queries.

        Args:
            num_heads: the first so many in the order; 0 for all.
            is_over: tells, after each head, whether there is no time for another; None ranks every query as an
                evaluation does.
        """
        if is_over is None:
            ranks = evaluate(self.method, self.dataset, self.shots, "valid").ranks.pessimistic
            return Validation(1 / ranks, len(self._order))
        reciprocal_ranks = np.zeros(count_queries(self.dataset, self.shots, "valid"))
        asked = 0
        for one in self._order[: num_heads or None]:
            task, pool = self.dataset.valid[one.task], self._pool(one.task)
            ranked = rank_head(self.method, task, task.support(self.shots), one.head, one.answers, pool)
            reciprocal_ranks[one.positions] = 1 / ranked[1]
            asked += 1
            if is_over():
                break
        return Validation(reciprocal_ranks, asked)

    def _pool(self, task: int) -> IntArray:
        if task not in self._pools:
            self._pools[task] = self.dataset.candidates(self.dataset.valid[task])
        return self._pools[task]


class JointValidator:
    """Ranks the queries of several datasets, each with a method of its own that shares the same network."""

    def __init__(self, validators: Sequence[Validator]) -> None:
        """Take what ranks the queries of each."""
        self.validators = tuple(validators)

    def validate(self, num_heads: int = 0, is_over: Callable[[], bool] | None = None) -> Validation:
        """Rank queries, of each dataset the first so many heads; each has an equal share of the time."""
        found = [validator.validate(num_heads, is_over) for validator in self.validators]
        ranks = np.concatenate([validation.reciprocal_ranks for validation in found])
        return Validation(ranks, max(validation.num_heads for validation in found))


def _heads_of(tasks: tuple[Task, ...], shots: int) -> Iterator[_Head]:
    first = 0
    for index, task in enumerate(tasks):
        queries = task.queries(shots)
        for head in np.unique(queries[:, 0]).tolist():
            positions = np.flatnonzero(queries[:, 0] == head)
            yield _Head(index, head, first + positions, queries[positions, 1])
        first += len(queries)


def _in_slices(heads: list[_Head]) -> Iterator[_Head]:
    """Give the heads slice by slice, those of one task together: methods remember what they made of its examples."""
    start, size = 0, FIRST_SLICE
    while start < len(heads):
        yield from sorted(heads[start : start + size], key=lambda one: (one.task, one.head))
        start, size = start + size, 2 * size
