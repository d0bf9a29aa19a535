"""Validations that can be cut short: valid queries are ranked in a fixed random order, for as long as there is time.

Which of two trained networks is better can only be said on queries that both were asked. So the order is the same each
time, and a validation that had less time is compared on the queries that it came to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.evaluation.protocol import QueryRanking, count_queries, rank_head, split_queries
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


@dataclass(frozen=True)
class Team:
    """Processes that validate together, each a part of the heads; by default there is only this one.

    Attributes:
        place: number of this process.
        size: how many there are.
        add: returns, in all of them, the sum of what each has.
        decide: returns, in all of them, what the first one says.
    """

    place: int = 0
    size: int = 1
    add: Callable[[FloatArray], FloatArray] = lambda values: values
    decide: Callable[[bool], bool] = lambda flag: flag


ALONE = Team()


class Validator:
    """Ranks the queries of a dataset's valid tasks again and again, all of them or as many as there is time for."""

    def __init__(self, method: Scorer, dataset: FewShotDataset, shots: int, seed: int = 0, team: Team = ALONE) -> None:
        """Draw the order of the heads.

        Args:
            method: to validate; its weights change between validations.
            dataset: where the valid tasks are.
            shots: K.
            seed: of the order.
            team: who validates together; every process of it calls `validate`, and has the whole of the result.
        """
        self.method, self.dataset, self.shots, self.team = method, dataset, shots, team
        heads = list(_heads_of(dataset.valid, shots))
        drawn = np.random.default_rng(seed).permutation(len(heads))
        self._order = list(_in_slices([heads[place] for place in drawn]))
        self._pools: dict[int, IntArray] = {}

    def validate(self, num_heads: int = 0, is_over: Callable[[], bool] | None = None) -> Validation:
        """Rank queries.

        Args:
            num_heads: the first so many in the order; 0 for all.
            is_over: tells, after a head of each process, whether there is no time for another; None ranks every query
                as an evaluation does.
        """
        reciprocal_ranks = np.zeros(count_queries(self.dataset, self.shots, "valid"))
        if is_over is None:
            ranking = QueryRanking(self.method, self.dataset, self.shots, "valid", "benchmark")
            pieces = split_queries(self.dataset, self.shots, "valid", heads_per_piece=1)
            for places, ranks in map(ranking.rank, pieces[self.team.place :: self.team.size]):
                reciprocal_ranks[places] = 1 / ranks[1]
            return Validation(self.team.add(reciprocal_ranks), len(self._order))
        asked, order = 0, self._order[: num_heads or None]
        while asked < len(order):
            for one in order[asked:][self.team.place : self.team.size : self.team.size]:
                task, pool = self.dataset.valid[one.task], self._pool(one.task)
                ranked = rank_head(self.method, task, task.support(self.shots), one.head, one.answers, pool)
                reciprocal_ranks[one.positions] = 1 / ranked[1]
            asked = min(asked + self.team.size, len(order))
            if self.team.decide(is_over()):
                break
        return Validation(self.team.add(reciprocal_ranks), asked)

    def _pool(self, task: int) -> IntArray:
        if task not in self._pools:
            self._pools[task] = self.dataset.candidates(self.dataset.valid[task])
        return self._pools[task]


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
