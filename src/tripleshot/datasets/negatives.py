"""TrainingTriples to learn from, and wrong ones: a true triple with another entity in place of its tail or its head."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray, lookup
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError

ATTEMPTS = 10  # redraws of a wrong triple that happens to be known


@dataclass(frozen=True, eq=False)
class TrainingTriples:
    """What an embedding model learns from, which knows no tasks: the background, the train tasks and the examples.

    Attributes:
        heads: shape (n,), int32, sorted by relation; `relations` and `tails` likewise.
        num_relations: those of the background, then one for each train, valid and test task, in this order.
        supports: shape (num_tasks, K, 2), the first K pairs of each task, -1 where there are fewer.
    """

    heads: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    num_relations: int
    supports: npt.NDArray[np.int64]


def collect_triples(dataset: FewShotDataset, shots: int) -> TrainingTriples:
    """Collect the background, all of the train tasks and the K examples, never a query, of the valid and test tasks."""
    graph, tasks = dataset.graph, list(dataset.all_tasks())
    pairs = [task.pairs if split == "train" else task.pairs[:shots] for split, task in tasks]
    numbers = np.arange(graph.num_relations, graph.num_relations + len(tasks), dtype=np.int32)
    joined = np.concatenate([np.empty((0, 2), dtype=np.int32), *pairs])
    relations = np.concatenate([graph.relation_ids, np.repeat(numbers, [len(part) for part in pairs])])
    supports = np.full((len(tasks), shots, 2), -1, dtype=np.int64)
    for support, (_, task) in zip(supports, tasks, strict=True):
        support[: len(task.pairs)] = task.pairs[:shots]
    if not len(relations):
        raise InputError(f"{dataset.name} has no triple to learn from")
    order = np.argsort(relations, kind="stable")
    heads = np.concatenate([graph.head_ids, joined[:, 0]])[order]
    tails = np.concatenate([graph.tail_ids, joined[:, 1]])[order]
    return TrainingTriples(heads, relations[order], tails, graph.num_relations + len(tasks), supports)


@dataclass(frozen=True, eq=False)
class CorruptedBatch:
    """True triples with wrong ones.

    Attributes:
        relations: shape (b,), sorted.
        entities: shape (b, 2 + n): the entity that is given, the one that truly belongs to it, n wrong ones.
        backwards: shape (b,), bool: the given entity is the tail.
    """

    relations: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int64]
    backwards: npt.NDArray[np.bool_]


class CorruptingSampler:
    """Draws true triples, each as often as any other, and wrong entities for them, each as often as any other."""

    def __init__(
        self,
        triples: TrainingTriples,
        num_entities: int,
        batch_size: int,
        num_negatives: int,
        bernoulli: bool = True,
        filtered: bool = False,
    ) -> None:
        """Prepare to draw.

        Args:
            triples: to draw from.
            num_entities: wrong entities are any of these.
            batch_size: triples per batch.
            num_negatives: wrong entities per triple.
            bernoulli: replace the head more often where a head has many tails, as TransH does; otherwise in half of the
                triples.
            filtered: draw again where a wrong entity makes a known triple.
        """
        self.triples, self.num_entities = triples, num_entities
        self.batch_size, self.num_negatives = batch_size, num_negatives
        self.head_shares = self._head_shares() if bernoulli else np.full(triples.num_relations, 0.5)
        self.known = np.sort(self._keys(triples.relations, triples.heads, triples.tails)) if filtered else None

    def draw(self, rng: np.random.Generator) -> CorruptedBatch:
        """Draw one batch."""
        triples = self.triples
        rows = np.sort(rng.integers(len(triples.heads), size=self.batch_size))
        columns = (triples.relations, triples.heads, triples.tails)
        relations, heads, tails = (column[rows].astype(np.int64) for column in columns)
        backwards = rng.random(len(rows)) < self.head_shares[relations]
        wrong = rng.integers(self.num_entities, size=(len(rows), self.num_negatives))
        given, true = np.where(backwards, tails, heads), np.where(backwards, heads, tails)
        if self.known is not None:
            self._replace_known(wrong, given, relations, backwards, rng)
        return CorruptedBatch(relations, np.concatenate([given[:, None], true[:, None], wrong], axis=1), backwards)

    def _replace_known(
        self,
        wrong: npt.NDArray[np.int64],
        given: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        backwards: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        """Draw again, in place, every wrong entity that makes a known triple."""
        assert self.known is not None
        rows, columns = np.indices(wrong.shape).reshape(2, -1)
        for _ in range(ATTEMPTS):
            drawn, asked, turned = wrong[rows, columns], given[rows], backwards[rows]
            keys = self._keys(relations[rows], np.where(turned, drawn, asked), np.where(turned, asked, drawn))
            _, again = lookup(self.known, keys)
            rows, columns = rows[again], columns[again]
            if not len(rows):
                return
            wrong[rows, columns] = rng.integers(self.num_entities, size=len(rows))

    def _keys(self, relations: IntArray, heads: IntArray, tails: IntArray) -> npt.NDArray[np.int64]:
        """Return one number per triple."""
        return (relations.astype(np.int64) * self.num_entities + heads) * self.num_entities + tails

    def _head_shares(self) -> npt.NDArray[np.float64]:
        """Return, per relation, how often the head is replaced: tails per head over tails per head + heads per tail."""
        num_heads, num_tails = (self._num_distinct(ends) for ends in (self.triples.heads, self.triples.tails))
        return num_tails / np.maximum(num_heads + num_tails, 1)

    def _num_distinct(self, ends: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return how many different entities each relation has at one end."""
        keys = self.triples.relations.astype(np.int64) * self.num_entities + ends
        keys.sort()
        is_first = np.append(True, keys[1:] != keys[:-1])
        return np.bincount(self.triples.relations[is_first], minlength=self.triples.num_relations)
