"""Training episodes: a support set, queries and wrong answers for a relation (paper, section IV-D).

`TaskPool` holds the relations that can be drawn. `EpisodeSampler` draws one episode at a time; `TaskBatchSampler` draws
many small ones at once, for methods that learn from a thousand relations per step (MetaR, GANA), without a loop over
relations. They stay two classes because they consume the random generator differently: one draws pairs by
`Generator.choice`, which takes one relation at a time, the other by Floyd's algorithm over all relations at once and a
wrong tail for each example as well. Trainings that repeat to the bit depend on both orders.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import draw_without_replacement, lookup
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges

Regime = Literal["pre-train", "in-train"]
"""`pre-train` draws episodes from the train tasks alone; `in-train` from the background relations as well."""

ATTEMPTS = 20  # redraws of a wrong answer that happens to be true
MAX_EPISODE_CANDIDATES = 100_000  # per relation, to draw wrong answers from: it bounds memory on large graphs
MAX_BATCH_CANDIDATES = 50_000  # the same for batches of tasks


class TaskPool:
    """The relations that episodes are drawn from, laid end to end in flat arrays: train tasks, then background.

    A relation is in it if it has a pair more than the examples and a second candidate. A row is a pair's place in
    `pairs`.

    Attributes:
        names: of the N relations.
        num_train: how many of them are train tasks; they come first.
        background_share: how often a background relation is drawn.
        train_index: shape (N,), a relation's place among the dataset's train tasks; -1 for a background relation.
        hidden: N rows, the graph's relation whose edges an episode must not show; -1 if the graph lacks it.
        pairs: shape (P, 2), int32, head and tail.
        pair_offsets: shape (N + 1,), where each relation's pairs start and end.
        candidates: shape (C,), int32, the tails that wrong answers are drawn from; relations with the same ones share
            them.
        candidate_starts: shape (N,), where each relation's candidates start; `candidate_ends` where they end.
        num_candidates: shape (N,), how many candidates there were before they were thinned out.
    """

    def __init__(
        self, dataset: FewShotDataset, shots: int, regime: Regime, background_share: float, max_candidates: int
    ) -> None:
        """Collect the relations that have enough pairs and candidates.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn, where there are both kinds.
            max_candidates: more candidates of a relation are thinned out evenly, which bounds memory.
        """
        tasks = list(enumerate(dataset.train))
        if regime == "in-train":
            named = {task.name for task in dataset.train}
            background = dataset.in_train.train[len(dataset.train) :]
            tasks += [(-1, task) for task in background if task.name not in named]
        usable: list[tuple[int, Task]] = []
        laid_out = _SharedArrays()
        sizes = []
        for index, task in tasks:
            found = dataset.candidates(task)
            if len(task.pairs) > shots and len(found) > 1:
                usable.append((index, task))
                laid_out.add(_thin_out(found, max_candidates))
                sizes.append(len(found))
        if not usable:
            raise InputError(f"{dataset.name} has no relation to train on with {shots} examples")
        self.names = tuple(task.name for _, task in usable)
        self.train_index = np.array([index for index, _ in usable])
        self.num_train = int((self.train_index >= 0).sum())
        self.background_share = background_share if self.num_train else 1.0
        self.hidden = HiddenEdges(dataset.graph.relations.find(list(self.names)).astype(np.int64))
        self.candidates, self.candidate_starts, self.candidate_ends = laid_out.join()
        self.num_candidates = np.array(sizes)
        self._lay_out_pairs([task for _, task in usable], dataset.graph.num_entities)

    def _lay_out_pairs(self, tasks: list[Task], num_entities: int) -> None:
        """Number the (relation, head) groups, so that a known answer is one number: its group and its tail."""
        self.pair_offsets = np.concatenate([[0], np.cumsum([len(task.pairs) for task in tasks])])
        self.pairs = np.concatenate([task.pairs for task in tasks])
        owners = np.arange(len(tasks), dtype=np.int32)
        self._owners = np.repeat(owners, np.diff(self.pair_offsets))
        known = np.concatenate([task.known for task in tasks])
        known_owners = np.repeat(owners, [len(task.known) for task in tasks])
        heads = known_owners.astype(np.int64) * num_entities + known[:, 0]  # sorted, as the known pairs of a task are
        is_next = np.append(True, heads[1:] != heads[:-1])
        self._num_entities = num_entities
        self._known_keys = (np.cumsum(is_next) - 1) * num_entities + known[:, 1]
        asked = self._owners.astype(np.int64) * num_entities + self.pairs[:, 0]
        self._group_of_pair = np.searchsorted(heads[is_next], asked).astype(np.int32)

    @property
    def has_background(self) -> bool:
        """Whether there are background relations to draw."""
        return len(self.names) > self.num_train

    def is_known(self, rows: npt.NDArray[np.int64], tails: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which tails are known to be true for the relation and the head of a row; both have one shape."""
        keys = self._group_of_pair[rows].astype(np.int64) * self._num_entities + tails
        return lookup(self._known_keys, keys)[1]

    def pairs_at(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return head and tail of each row: the shape of `rows` and 2."""
        return self.pairs[rows].astype(np.int64)

    def draw_wrong_tails(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw a candidate for each row, of the same shape, and again where it turns out to be true."""
        owners = self._owners[rows]
        starts, ends = self.candidate_starts[owners], self.candidate_ends[owners]
        drawn = self.candidates[rng.integers(starts, ends)].astype(np.int64)
        unsure = np.unravel_index(np.arange(rows.size), rows.shape)
        for _ in range(ATTEMPTS):
            is_known = self.is_known(rows[unsure], drawn[unsure])
            if not is_known.any():
                break
            unsure = tuple(place[is_known] for place in unsure)
            drawn[unsure] = self.candidates[rng.integers(starts[unsure], ends[unsure])]
        return drawn


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
    ) -> None:
        """Collect the relations to draw from.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            num_queries: B, queries per episode.
            num_negatives: n, wrong answers per query.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn.
        """
        self.shots, self.num_queries, self.num_negatives = shots, num_queries, num_negatives
        self.pool = TaskPool(dataset, shots, regime, background_share, MAX_EPISODE_CANDIDATES)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw one episode; queries repeat only where a relation has too few."""
        pool = self.pool
        from_background = pool.has_background and rng.random() < pool.background_share
        first, last = (pool.num_train, len(pool.names)) if from_background else (0, pool.num_train)
        task = int(rng.integers(first, last))
        start, end = pool.pair_offsets[task : task + 2]
        drawn = rng.choice(end - start, min(self.shots + self.num_queries, end - start), replace=False)
        support, rest = start + drawn[: self.shots], start + drawn[self.shots :]
        if len(rest) < self.num_queries:
            rest = np.concatenate([rest, rng.choice(rest, self.num_queries - len(rest))])
        return Episode(
            task=int(pool.train_index[task]),
            support=pool.pairs_at(support),
            queries=pool.pairs_at(rest),
            negatives=pool.draw_wrong_tails(np.repeat(rest[:, None], self.num_negatives, axis=1), rng),
            weight=int(pool.num_candidates[task]) / self.num_negatives,
            hidden=HiddenEdges.of(int(pool.hidden.relations[task])),
        )


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


class _SharedArrays:
    """Arrays laid end to end, equal ones only once."""

    def __init__(self) -> None:
        self._parts: list[npt.NDArray[np.int32]] = []
        self._places: dict[bytes, int] = {}
        self._taken: list[int] = []

    def add(self, part: npt.NDArray[np.int32]) -> None:
        """Add an array, unless it is there already."""
        place = self._places.setdefault(sha256(np.ascontiguousarray(part).data).digest(), len(self._parts))
        if place == len(self._parts):
            self._parts.append(part)
        self._taken.append(place)

    def join(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the arrays end to end, and where each that was added starts and ends."""
        lengths = np.array([len(part) for part in self._parts], dtype=np.int64)
        ends = np.cumsum(lengths)
        return np.concatenate(self._parts), (ends - lengths)[self._taken], ends[self._taken]


def _thin_out(candidates: npt.NDArray[np.int32], limit: int) -> npt.NDArray[np.int32]:
    if len(candidates) <= limit:
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, limit).astype(np.int64)]
