"""The relations that training episodes are drawn from, their pairs, and wrong answers to them."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import expand, lookup
from tripleshot.datasets.dataset import FewShotDataset, Task, background_tasks
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges

Regime = Literal["pre-train", "in-train"]
"""`pre-train` draws episodes from the train tasks alone; `in-train` from the background relations as well."""

ATTEMPTS = 20  # redraws of a wrong answer that happens to be true


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
        num_entities: of the graph.
        num_candidates: shape (N,), how many candidates there were before they were thinned out.
    """

    def __init__(
        self,
        dataset: FewShotDataset,
        shots: int,
        regime: Regime,
        background_share: float,
        max_candidates: int,
        background: Sequence[Task] | None = None,
    ) -> None:
        """Collect the relations that have enough pairs and candidates.

        Args:
            dataset: with train tasks and, in the in-train regime, background relations to draw from.
            shots: K.
            regime: whether background relations are tasks, too.
            background_share: how often one of them is drawn, where there are both kinds.
            max_candidates: more candidates of a relation are thinned out evenly, which bounds memory.
            background: tasks of the background relations to draw from; None takes all of them.
        """
        tasks = list(enumerate(dataset.train))
        if regime == "in-train":
            named = {task.name for task in dataset.train}
            if background is None:
                background = background_tasks(dataset.graph)
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
        self.num_entities = num_entities
        self._known_offsets = np.append(np.flatnonzero(is_next), len(heads))
        self._known_keys = (np.cumsum(is_next) - 1) * num_entities + known[:, 1]
        asked = self._owners.astype(np.int64) * num_entities + self.pairs[:, 0]
        self._group_of_pair = np.searchsorted(heads[is_next], asked).astype(np.int32)

    @property
    def has_background(self) -> bool:
        """Whether there are background relations to draw."""
        return len(self.names) > self.num_train

    def is_known(self, rows: npt.NDArray[np.int64], tails: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which tails are known to be true for the relation and the head of a row; both have one shape."""
        keys = self._group_of_pair[rows].astype(np.int64) * self.num_entities + tails
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

    def draw_many_wrong_tails(
        self,
        task: int,
        rows: npt.NDArray[np.int64],
        count: int,
        rng: np.random.Generator,
        among_all: bool = False,
    ) -> npt.NDArray[np.int64]:
        """Draw many candidates, or entities, for each row of one relation: shape (len(rows), count).

        They are those that `draw_wrong_tails` draws; what is known is looked up among the answers to these rows alone.
        """
        start, end = int(self.candidate_starts[task]), int(self.candidate_ends[task])

        def draw(number: int) -> npt.NDArray[np.int64]:
            if among_all:
                return rng.integers(0, self.num_entities, number)
            return self.candidates[rng.integers(start, end, number)].astype(np.int64)

        drawn = draw(len(rows) * count)
        groups = self._group_of_pair[rows]
        places, owners = expand(self._known_offsets, groups)
        known = self._known_keys[places] + (owners - groups[owners]) * self.num_entities
        bases = np.repeat(np.arange(len(rows)) * self.num_entities, count)
        unsure = np.flatnonzero(lookup(known, bases + drawn)[1])
        for _ in range(ATTEMPTS):
            if not len(unsure):
                break
            drawn[unsure] = draw(len(unsure))
            unsure = unsure[lookup(known, bases[unsure] + drawn[unsure])[1]]
        return drawn.reshape(len(rows), count)


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
