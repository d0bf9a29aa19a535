"""Many small episodes at once, for methods that learn from a thousand relations a step (MetaR, GANA).

`EpisodeSampler` draws one relation after the other. Here all relations' pairs, candidates and known answers lie end to
end in flat arrays, so that a whole step is drawn without a loop over its relations.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.episodes import ATTEMPTS, Regime
from tripleshot.errors import InputError

MAX_CANDIDATES = 50_000  # of a relation, evenly spread: wrong answers are drawn from these, and memory stays bounded


@dataclass(frozen=True, eq=False)
class TaskBatch:
    """Episodes of T relations; a relation may come more than once.

    Attributes:
        tasks: shape (T,), which relation of the sampler each is about.
        support: shape (T, K, 2), head and tail of each example.
        support_negatives: shape (T, K), a tail for each example that is not known to be true for its head.
        queries: shape (T, B, 2), true pairs, none of them in the support.
        negatives: shape (T, B, n), tails that are not known to be true for the query's head.
        hidden: shape (T,), the background relation whose edges must not be seen; -1 for a train task.
    """

    tasks: npt.NDArray[np.int64]
    support: npt.NDArray[np.int64]
    support_negatives: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    negatives: npt.NDArray[np.int64]
    hidden: npt.NDArray[np.int64]


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
        """Lay the relations that have enough triples and candidates end to end.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            num_tasks: T, episodes of a batch.
            num_queries: B, queries of an episode.
            num_negatives: n, wrong answers a query.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn.
        """
        self.shots, self.num_tasks, self.num_queries, self.num_negatives = shots, num_tasks, num_queries, num_negatives
        self.num_entities = dataset.graph.num_entities
        tasks = (dataset.in_train if regime == "in-train" else dataset).train
        candidates = [dataset.candidates(task) for task in tasks]
        chosen = [i for i, task in enumerate(tasks) if len(task.pairs) > shots and len(candidates[i]) > 1]
        if not chosen:
            raise InputError(f"{dataset.name} has no relation to train on with {shots} examples")
        self.num_train = sum(i < len(dataset.train) for i in chosen)
        self.names = tuple(tasks[i].name for i in chosen)
        has_background = len(chosen) > self.num_train
        self.background_share = (background_share if self.num_train else 1.0) if has_background else 0.0
        relation_ids = dataset.graph.relations.ids(list(self.names[self.num_train :]))
        self._hidden = np.concatenate([np.full(self.num_train, -1), relation_ids]).astype(np.int64)
        self._lay_out([tasks[i] for i in chosen])
        thinned = [_thinned(candidates[i]) for i in chosen]
        self._candidate_offsets = _offsets(thinned)
        self._candidates = np.concatenate(thinned)

    def _lay_out(self, tasks: list[Task]) -> None:
        """Number the (relation, head) groups, so that a known answer is one number: its group and its tail."""
        self._pair_offsets = _offsets([task.pairs for task in tasks])
        self._pairs = np.concatenate([task.pairs for task in tasks]).astype(np.int64)
        owners = np.repeat(np.arange(len(tasks)), np.diff(self._pair_offsets))
        known = np.concatenate([task.known for task in tasks]).astype(np.int64)
        known_owners = np.repeat(np.arange(len(tasks)), [len(task.known) for task in tasks])
        groups, group_of_known = np.unique(known_owners * self.num_entities + known[:, 0], return_inverse=True)
        self._known_keys = np.sort(group_of_known * self.num_entities + known[:, 1])
        self._group_of_pair = np.searchsorted(groups, owners * self.num_entities + self._pairs[:, 0])

    def draw(self, chance: np.random.Generator) -> TaskBatch:
        """Draw one batch; queries of an episode repeat only where its relation has too few."""
        from_background = chance.random(self.num_tasks) < self.background_share
        first = np.where(from_background, self.num_train, 0)
        tasks = chance.integers(first, np.where(from_background, len(self.names), self.num_train))
        rows = self._draw_rows(tasks, chance)
        support, queries = rows[:, : self.shots], rows[:, self.shots :]
        return TaskBatch(
            tasks,
            self._pairs[support],
            self._draw_negatives(tasks, support[..., None], chance)[..., 0],
            self._pairs[queries],
            self._draw_negatives(tasks, np.repeat(queries[..., None], self.num_negatives, axis=2), chance),
            self._hidden[tasks],
        )

    def _draw_rows(self, tasks: npt.NDArray[np.int64], chance: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw K + B pairs of each task without replacement (Floyd's algorithm, then shuffled): shape (T, K + B)."""
        count = self.shots + self.num_queries
        sizes = self._pair_offsets[tasks + 1] - self._pair_offsets[tasks]
        places = np.tile(np.arange(count), (len(tasks), 1))
        rich = np.flatnonzero(sizes > count)
        for turn in range(count):
            last = sizes[rich] - count + turn
            pick = chance.integers(last + 1)
            taken = (places[rich, :turn] == pick[:, None]).any(axis=1)
            places[rich, turn] = np.where(taken, last, pick)
        keys = np.where(np.arange(count) < sizes[:, None], chance.random(places.shape), 2.0)
        slots = np.arange(count) - self.shots  # too few pairs: their queries are gone through again
        folded = np.where(slots < 0, slots, slots % (np.minimum(sizes, count)[:, None] - self.shots)) + self.shots
        shuffled = np.take_along_axis(np.argsort(keys, axis=1), folded, axis=1)
        return self._pair_offsets[tasks][:, None] + np.take_along_axis(places, shuffled, axis=1)

    def _draw_negatives(
        self, tasks: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], chance: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Draw a candidate for each pair, and again for those that turn out to be true."""
        starts, ends = (np.broadcast_to(self._candidate_offsets[tasks + i][:, None, None], rows.shape) for i in (0, 1))
        negatives = self._candidates[chance.integers(starts, ends)].astype(np.int64)
        groups = self._group_of_pair[rows]
        open_places = np.unravel_index(np.arange(rows.size), rows.shape)
        for _ in range(ATTEMPTS):
            keys = groups[open_places] * self.num_entities + negatives[open_places]
            found = np.minimum(np.searchsorted(self._known_keys, keys), len(self._known_keys) - 1)
            is_true = self._known_keys[found] == keys
            if not is_true.any():
                break
            open_places = tuple(place[is_true] for place in open_places)
            negatives[open_places] = self._candidates[chance.integers(starts[open_places], ends[open_places])]
        return negatives


def _offsets(parts: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def _thinned(candidates: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    if len(candidates) <= MAX_CANDIDATES:
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, MAX_CANDIDATES).astype(np.int64)]
