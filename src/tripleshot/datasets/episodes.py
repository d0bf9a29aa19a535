"""Training episodes: a support set, queries and wrong answers for a relation (paper, section IV-D).

`EpisodeSampler` draws one episode at a time; `TaskBatchSampler` draws many small ones at once, for methods that learn
from a thousand relations per step (MetaR, GANA), without a loop over relations. They stay two classes because they
consume the random generator differently: one draws pairs by `Generator.choice`, which takes one relation at a time, the
other by Floyd's algorithm over all relations at once and a wrong tail for each example as well. Trainings that repeat
to the bit depend on both orders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import draw_without_replacement
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.held_back import is_held_back
from tripleshot.datasets.task_pool import Regime, TaskPool
from tripleshot.graph.hidden_edges import HiddenEdges

MAX_EPISODE_CANDIDATES = 100_000  # per relation, to draw wrong answers from: it bounds memory on large graphs
MAX_BATCH_CANDIDATES = 50_000  # the same for batches of tasks


@dataclass(frozen=True, eq=False)
class Episode:
    """One relation's support and queries.

    Attributes:
        task: which of the train tasks it is about; -1 for a background relation.
        support: shape (K, 2), head and tail.
        queries: shape (B, 2), true pairs, none of them in the support.
        negatives: shape (B, n), tails that are not known to be true for the query's head.
        weight: how many candidates each of them stands for.
        hidden: the relation itself, if the graph has it: its edges would give the answers away.
    """

    task: int
    support: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    negatives: npt.NDArray[np.int64]
    weight: float
    hidden: HiddenEdges

    @property
    def tails(self) -> npt.NDArray[np.int64]:
        """The true tail of each query and the wrong ones, shape (B, 1 + n)."""
        return np.concatenate([self.queries[:, 1:], self.negatives], axis=1)


class EpisodeSampler:
    """Draws episodes; a relation is drawn as often as any other of its kind, whatever its size."""

    def __init__(
        self,
        dataset: FewShotDataset,
        shots: int,
        num_queries: int,
        num_negatives: int = 1,
        regime: Regime = "pre-train",
        background_share: float = 0.5,
        background: Sequence[Task] | None = None,
        held_back: float = 0.0,
        held_back_episodes: float = 1.0,
    ) -> None:
        """Collect the relations to draw from.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            num_queries: B, queries per episode.
            num_negatives: n, wrong answers per query.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn.
            background: tasks of the background relations to draw from; None takes all of them.
            held_back: share of the triples that were held back, and that alone are asked about; a relation of which
                none was is asked about as ever. 0 asks about all.
            held_back_episodes: how often that is so; the other episodes ask about all triples of their relation.
        """
        self.shots, self.num_queries, self.num_negatives = shots, num_queries, num_negatives
        self.held_back, self.held_back_episodes = held_back, held_back_episodes
        self.pool = TaskPool(dataset, shots, regime, background_share, MAX_EPISODE_CANDIDATES, background)

    def draw(self, rng: np.random.Generator, shots: int | None = None, among_all: bool = False) -> Episode:
        """Draw one episode; queries repeat only where a relation has too few.

        Args:
            rng: what is drawn by.
            shots: how many examples; None takes K.
            among_all: draw wrong answers among all entities, not only among candidates.
        """
        pool = self.pool
        from_background = pool.has_background and rng.random() < pool.background_share
        first, last = (pool.num_train, len(pool.names)) if from_background else (0, pool.num_train)
        task = int(rng.integers(first, last))
        support, rest = self._draw_rows(task, self.shots if shots is None else shots, rng)
        if len(rest) < self.num_queries:
            rest = np.concatenate([rest, rng.choice(rest, self.num_queries - len(rest))])
        return Episode(
            task=int(pool.train_index[task]),
            support=pool.pairs_at(support),
            queries=pool.pairs_at(rest),
            negatives=pool.draw_many_wrong_tails(task, rest, self.num_negatives, rng, among_all),
            weight=(pool.num_entities if among_all else int(pool.num_candidates[task])) / self.num_negatives,
            hidden=HiddenEdges.of(int(pool.hidden.relations[task])),
        )

    def _draw_rows(
        self, task: int, shots: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Draw rows of the pool for examples and for queries, no more of them than the relation has."""
        start, end = self.pool.pair_offsets[task : task + 2]
        size = int(end - start)
        count = min(shots, size - 1)
        asks_about_all = self.held_back_episodes < 1 and rng.random() >= self.held_back_episodes
        if not self.held_back or asks_about_all:
            drawn = rng.choice(size, min(count + self.num_queries, size), replace=False)
            return start + drawn[:count], start + drawn[count:]
        rows = np.arange(start, end)
        asked = rows[self._is_asked[start:end]]
        asked = asked if len(asked) else rows[count:]
        queries = rng.choice(asked, min(self.num_queries, len(asked)), replace=False)[: size - count]
        return rng.choice(np.setdiff1d(rows, queries), count, replace=False), queries

    @cached_property
    def _is_asked(self) -> npt.NDArray[np.bool_]:
        pool = self.pool
        owners = np.repeat(np.arange(len(pool.names)), np.diff(pool.pair_offsets))
        return is_held_back(pool.names, pool.pairs[:, 0], owners, pool.pairs[:, 1], self.held_back)

    def draw_mixed(self, rng: np.random.Generator, max_shots: int, among_all_share: float) -> Episode:
        """Draw an episode with 1 to `max_shots` examples, or with K if that is 0.

        The logarithm of a mixed number of examples is uniform: 1 to 2 is as far as 5 to 10. A share of the episodes has
        wrong answers among all entities.
        """
        shots = int((max_shots + 1) ** rng.random()) if max_shots else None
        return self.draw(rng, shots, among_all=bool(among_all_share) and rng.random() < among_all_share)


@dataclass(frozen=True, eq=False)
class TaskBatch:
    """Episodes of T relations; a relation may come more than once.

    Attributes:
        tasks: shape (T,), which relation of the sampler's pool each is about.
        support: shape (T, K, 2), head and tail of each example.
        support_negatives: shape (T, K), a tail for each example that is not known to be true for its head.
        queries: shape (T, B, 2), true pairs, none of them in the support.
        negatives: shape (T, B, n), tails that are not known to be true for the query's head.
        hidden: T rows, each episode's relation, if the graph has it: its edges would give the answers away.
    """

    tasks: npt.NDArray[np.int64]
    support: npt.NDArray[np.int64]
    support_negatives: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    negatives: npt.NDArray[np.int64]
    hidden: HiddenEdges


class TaskBatchSampler:
    """Draws batches of episodes; a relation is drawn as often as any other of its kind, whatever its size."""

    def __init__(
        self,
        dataset: FewShotDataset,
        shots: int,
        num_tasks: int,
        num_queries: int,
        num_negatives: int = 1,
        regime: Regime = "in-train",
        background_share: float = 0.5,
    ) -> None:
        """Collect the relations to draw from.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            num_tasks: T, episodes per batch.
            num_queries: B, queries per episode.
            num_negatives: n, wrong answers per query.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn.
        """
        self.shots, self.num_tasks, self.num_queries, self.num_negatives = shots, num_tasks, num_queries, num_negatives
        self.pool = TaskPool(dataset, shots, regime, background_share, MAX_BATCH_CANDIDATES)

    def draw(self, rng: np.random.Generator) -> TaskBatch:
        """Draw one batch; queries of an episode repeat only where its relation has too few."""
        pool = self.pool
        from_background = (rng.random(self.num_tasks) < pool.background_share) & pool.has_background
        first = np.where(from_background, pool.num_train, 0)
        tasks = rng.integers(first, np.where(from_background, len(pool.names), pool.num_train))
        rows = self._draw_rows(tasks, rng)
        support, queries = rows[:, : self.shots], rows[:, self.shots :]
        return TaskBatch(
            tasks,
            pool.pairs_at(support),
            pool.draw_wrong_tails(support, rng),
            pool.pairs_at(queries),
            pool.draw_wrong_tails(np.repeat(queries[..., None], self.num_negatives, axis=2), rng),
            HiddenEdges(pool.hidden.relations[tasks]),
        )

    def _draw_rows(self, tasks: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw K + B pairs of each task without replacement, then shuffled: shape (T, K + B)."""
        count = self.shots + self.num_queries
        sizes = self.pool.pair_offsets[tasks + 1] - self.pool.pair_offsets[tasks]
        places = draw_without_replacement(sizes, count, rng.integers)
        keys = np.where(np.arange(count) < sizes[:, None], rng.random(places.shape), 2.0)
        slots = np.arange(count) - self.shots  # too few pairs: their queries are gone through again
        folded = np.where(slots < 0, slots, slots % (np.minimum(sizes, count)[:, None] - self.shots)) + self.shots
        shuffled = np.take_along_axis(np.argsort(keys, axis=1), folded, axis=1)
        return self.pool.pair_offsets[tasks][:, None] + np.take_along_axis(places, shuffled, axis=1)
