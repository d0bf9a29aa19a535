"""Proposed triples row by row, whatever columns their table has."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

MEASURES = ("confidence", "score", "rank", "decision")


class ProposedTriple(NamedTuple):
    """A triple by name, and what is known about it; None is not known.

    Attributes:
        confidence: how likely it is right.
        score: the method's own, comparable within one head only.
        rank: among the proposals for its head.
        decision: that a curator has taken.
    """

    head: str
    relation: str
    tail: str
    confidence: float | None = None
    score: float | None = None
    rank: int | None = None
    decision: str | None = None


def triples_of(batches: Iterable[pa.RecordBatch]) -> Iterator[ProposedTriple]:
    """Give the triples of record batches; columns other than those of a proposal are left out."""
    for batch in batches:
        names = [name for name in ProposedTriple._fields if name in batch.schema.names]
        columns = (batch.column(name).to_pylist() for name in names)
        for row in zip(*columns, strict=True):
            yield ProposedTriple(**dict(zip(names, row, strict=True)))
