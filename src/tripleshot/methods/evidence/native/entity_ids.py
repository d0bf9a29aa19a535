"""Ids of entities as the kernel takes them: it reads whatever they point at, so they are looked at before."""

import numpy as np

from tripleshot.arrays import IntArray
from tripleshot.errors import InputError
from tripleshot.methods.evidence.pair_evidence import Integers


def as_ids(entities: IntArray, num_entities: int) -> Integers:
    """Return ids of entities, of any shape, contiguous; one that the graph does not have is an error."""
    ids = np.ascontiguousarray(entities, np.int64)
    if ids.size and ids.view(np.uint64).max() >= num_entities:  # in one pass: a negative one is larger than all others
        wrong = int(ids[(ids < 0) | (ids >= num_entities)][0])
        raise InputError(f"unknown entity #{wrong}: ids go from 0 to {num_entities - 1}")
    return ids
