"""Many answers as a file: Parquet, TSV or CSV, written as they come, and whole or not at all."""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tripleshot.atomic import new_file
from tripleshot.errors import InputError

ROWS_AT_ONCE = 50_000
SUFFIXES = (".parquet", ".tsv", ".csv")


def write_answers(batches: Iterable[pa.RecordBatch], path: Path, progress: Callable[[int], None] | None = None) -> None:
    """Write answers to a file.

    Args:
        batches: from `Answerer.answer_many`; they are never in memory all at once.
        path: its suffix says what is written: .parquet, .tsv (without quoting) or .csv.
        progress: called with the number of heads that have been answered so far.
    """
    check_suffix(path)
    counted = _counted(batches, progress) if progress else iter(batches)
    with new_file(path) as temporary:
        if path.suffix == ".parquet":
            _write_parquet(counted, temporary)
        else:
            _write_text(counted, temporary)


def check_suffix(path: Path) -> None:
    """Refuse a file that answers cannot be written to."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: answers are written as {', '.join(SUFFIXES)}, by the suffix of the file")


def _counted(batches: Iterable[pa.RecordBatch], progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += pc.sum(pc.equal(batch.column("rank"), 1)).as_py() or 0
        progress(done)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    waiting: list[pa.RecordBatch] = []
    writer = None
    try:
        for batch in batches:
            writer = writer or pq.ParquetWriter(path, batch.schema, compression="zstd")
            waiting.append(batch)
            if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_batches(waiting).combine_chunks())
                waiting = []
        if writer is None:
            raise InputError("there is no head to answer about")
        writer.write_table(pa.Table.from_batches(waiting, writer.schema).combine_chunks())
    finally:
        if writer is not None:
            writer.close()


def _write_text(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.writer(file, lineterminator="\n")
        else:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        is_first = True
        for batch in batches:
            if is_first:
                writer.writerow(batch.schema.names)
            is_first = False
            try:
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            except csv.Error:
                raise InputError(f"{path.name}: a name with a tab or a line break does not fit; write .csv") from None
        if is_first:
            raise InputError("there is no head to answer about")
