"""Triples that pre-training does not see, so that episodes can ask about them as about something new.

A method that has learned all triples of its train tasks knows every answer of its episodes by heart, and may learn to
recognise what it knows; a relation that is new has nothing of that kind. Which triples are held back follows
from their names and ids alone: a training that starts from the pre-training of another run holds back the same ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import FewShotDataset, Task

NUM_PARTS = 1_000_003  # that triples are dealt into


def is_held_back(
    names: Sequence[str], heads: IntArray, relations: IntArray, tails: IntArray, share: float
) -> npt.NDArray[np.bool_]:
    """Tell which triples are held back.

    Args:
        names: of relations.
        heads: shape (n,), ids of entities.
        relations: shape (n,), places among the names.
        tails: shape (n,), ids of entities.
        share: how many of all triples are held back.
    """
    digests = [int.from_bytes(sha256(name.encode()).digest()[:6], "little") for name in names]
    mixed = np.array(digests, dtype=np.uint64)[relations]
    mixed ^= heads.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= tails.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return mixed % np.uint64(NUM_PARTS) < share * NUM_PARTS


def without_held_back(dataset: FewShotDataset, share: float) -> FewShotDataset:
    """Return a dataset whose graph and train tasks lack the triples that are held back."""
    graph = dataset.graph
    names = graph.relations.names.to_pylist()
    kept = ~is_held_back(names, graph.head_ids, graph.relation_ids, graph.tail_ids, share)
    return replace(train_without_held_back(dataset, share), graph=graph.with_triples_at(kept))


def train_without_held_back(dataset: FewShotDataset, share: float) -> FewShotDataset:
    """Return a dataset whose train tasks lack the triples that are held back; its graph keeps them all."""
    return replace(dataset, train=tuple(_without(task, share) for task in dataset.train))


def _without(task: Task, share: float) -> Task:
    heads, tails = task.pairs.T
    return replace(task, pairs=task.pairs[~is_held_back([task.name], heads, np.zeros_like(heads), tails, share)])
