"""Proposed triples with their confidence, and where they come from: as a table, as files, or back from files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.answering.export import ExportStyle, write_triples
from tripleshot.answering.provenance import Provenance
from tripleshot.arrays import is_integer
from tripleshot.errors import InputError
from tripleshot.tables import Tabular

BEST_AT_ONCE = 4  # times as many rows as are wanted are held before the others are dropped
SHOWN = 20  # rows of what is printed


@dataclass(frozen=True, eq=False)
class Proposals(Tabular):
    """Triples that a graph does not have and that a method proposes.

    Attributes:
        table: one row each: head, relation, tail, confidence, score, rank, and what to show for the three names.
        provenance: where they come from.
    """

    table: pa.Table
    provenance: Provenance

    COLUMNS: ClassVar[tuple[str, ...]] = (
        *("head", "relation", "tail", "confidence", "score", "rank"),
        *("head_label", "relation_label", "tail_label"),
    )

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], provenance: Provenance, most: int | None = None) -> "Proposals":
        """Collect proposals in memory: all, or the most confident."""
        kept = batches if most is None else keep_best(batches, most)
        return cls(pa.Table.from_batches(list(kept) or [empty_batch()]), provenance)

    def __len__(self) -> int:
        return self.table.num_rows

    def __str__(self) -> str:
        rows = self.table.slice(0, SHOWN).to_pylist()
        lines = [
            f"{row['head_label']} — {row['relation_label']} → {row['tail_label']}"
            + ("" if row["confidence"] is None else f"  {row['confidence']:.0%}")
            for row in rows
        ]
        more = len(self) - len(rows)
        return "\n".join([*lines, *([f"and {more:,} more"] if more else [])])

    def to_arrow(self) -> pa.Table:
        """Return one row for each proposal."""
        return self.table

    def write(self, path: str | Path, style: ExportStyle | None = None) -> None:
        """Write the proposals, whole or not at all.

        Args:
            path: the suffix says what is written: a table (.parquet, .tsv, .csv, .jsonl), RDF with provenance (.ttl,
                .nt, .trig, .nq) or Cypher (.cypher).
            style: how names become IRIs and nodes.
        """
        write_triples(self.table.to_batches() or [empty_batch()], Path(path), self.provenance, style)


def empty_batch() -> pa.RecordBatch:
    """Return the columns of proposals without a row."""
    kinds = {"confidence": pa.float64(), "score": pa.float64(), "rank": pa.int32()}
    return pa.RecordBatch.from_pydict(
        {name: pa.array([], type=kinds.get(name, pa.large_string())) for name in Proposals.COLUMNS}
    )


def keep_best(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Keep the most confident of any number of proposals, best first; memory is that of a few times as many.

    Raises:
        InputError: nothing is known about the confidence of some, so that none is the best.
    """
    if not (is_integer(most) and most >= 1):
        raise InputError(f"most: expected one proposal or more, found {most!r}")
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if "confidence" not in batch.schema.names or batch.column("confidence").null_count:
            raise InputError("most: nothing is known about confidence, so that none is the best; leave it out")
        held.append(batch)
        if sum(map(len, held)) > BEST_AT_ONCE * most:
            held = _best(held, most)
    yield from _best(held or [empty_batch()], most)


def _best(batches: list[pa.RecordBatch], most: int) -> list[pa.RecordBatch]:
    """Return the most confident, the first among equals first."""
    table = pa.Table.from_batches(batches)
    order = pc.sort_indices(table, sort_keys=[("confidence", "descending")])[:most]
    return table.take(order).combine_chunks().to_batches() or [batches[0].slice(0, 0)]
