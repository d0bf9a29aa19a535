"""Results as tables: Arrow inside, pandas or polars for who works with them, Parquet, TSV, CSV or JSON as files."""

import csv
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tripleshot import markup
from tripleshot.errors import InputError
from tripleshot.files.atomic import new_file
from tripleshot.markup import Shown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

ROWS_AT_ONCE = 50_000
ROWS_SHOWN = 50
SUFFIXES = (".parquet", ".tsv", ".csv", ".jsonl")


class Tabular(Shown):
    """Something whose content is a table."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the content as an Arrow table."""

    def to_pandas(self) -> "pd.DataFrame":
        """Return the content as a pandas data frame; needs pandas."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return the content as a polars data frame; needs polars."""
        try:
            import polars
        except ImportError:
            raise InputError("to_polars needs polars: pip install polars") from None
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_html(self) -> str:
        """Return the first rows as a table of HTML, as a notebook shows it; names in it are escaped."""
        whole = self.to_arrow()
        rows = [[_shown(value) for value in row.values()] for row in whole.slice(0, ROWS_SHOWN).to_pylist()]
        more = whole.num_rows - len(rows)
        return markup.table(whole.column_names, rows) + (markup.note(f"and {more:,} more rows") if more else "")

    def write(self, path: str | Path) -> None:
        """Write the table to a .parquet, .tsv, .csv or .jsonl file, whole or not at all."""
        write_batches(self.to_arrow().to_batches(), Path(path))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None else str(value)


def write_batches(batches: Iterable[pa.RecordBatch], path: Path) -> None:
    """Write record batches of one schema to a file as they come; they are never in memory all at once.

    Args:
        batches: at least one.
        path: its suffix says what is written: .parquet, .tsv (without quoting), .csv or .jsonl (an object per line).
    """
    check_suffix(path)
    with new_file(path) as temporary:
        write = {".parquet": _write_parquet, ".jsonl": _write_json}.get(path.suffix, _write_text)
        if not write(iter(batches), temporary):
            raise InputError(f"{path}: there is nothing to write")


def check_suffix(path: Path) -> None:
    """Refuse a file that a table cannot be written to."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: tables are written as {', '.join(SUFFIXES)}, by the suffix of the file")


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> bool:
    """Write row groups of a good size, and tell whether there was a batch at all."""
    waiting: list[pa.RecordBatch] = []
    writer = None
    try:
        for batch in batches:
            writer = writer or pq.ParquetWriter(path, batch.schema, compression="zstd")
            waiting.append(batch)
            if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_batches(waiting).combine_chunks())
                waiting = []
        if writer is not None:
            writer.write_table(pa.Table.from_batches(waiting, writer.schema).combine_chunks())
    finally:
        if writer is not None:
            writer.close()
    return writer is not None


def _write_text(batches: Iterator[pa.RecordBatch], path: Path) -> bool:
    """Write a line of column names and a line per row, and tell whether there was a batch at all."""
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
    return not is_first


def _write_json(batches: Iterator[pa.RecordBatch], path: Path) -> bool:
    """Write an object per row and line, and tell whether there was a batch at all."""
    has_batch = False
    with path.open("w", encoding="utf-8", newline="") as file:
        for batch in batches:
            has_batch = True
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in batch.to_pylist())
    return has_batch
