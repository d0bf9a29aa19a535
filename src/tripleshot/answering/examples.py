"""Examples of a relation, wherever they are: pairs in memory, a data frame or a file."""

import csv
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tripleshot.arrays import is_integer
from tripleshot.errors import InputError

Reference = str | int | np.integer
"""An entity: its name, its label if no other has it, or its id as 12 or "#12"."""

Pair = tuple[Reference, Reference]
UNREADABLE = (OSError, UnicodeDecodeError, LookupError, pa.ArrowException)  # of Parquet files
TITLES = ("head", "tail", "entity", "name")
NAMES = (("head", "tail"), ("subject", "object"), ("source", "target"))


def read_examples(source: Any) -> list[Pair]:  # noqa: ANN401 (frames are those of libraries that need not be installed)
    """Return the pairs of head and tail of a relation's examples.

    Args:
        source: an iterable of pairs, a data frame (pandas, polars, Arrow) or a path to a .tsv, .csv, .txt or .parquet
            file. The columns are those called head and tail (or subject and object), else the first two.

    Raises:
        InputError: there is no example, or something that is not a pair; it says where.
    """
    if isinstance(source, str | PathLike):
        pairs = _read_file(Path(source))
    elif hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
        pairs = _read_table(pa.table(source), "examples")
    elif isinstance(source, Iterable):
        pairs = [_checked(pair, number) for number, pair in enumerate(source, start=1)]
    else:
        raise InputError(f"examples: expected pairs of head and tail, a data frame or a file, found {source!r}")
    if not pairs:
        raise InputError("examples: give at least one pair of head and tail")
    return pairs


def as_reference(value: object, place: str) -> Reference:
    """Return what names an entity, and refuse anything else: a number that was computed may be no whole one."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and is_integer(value):
        return int(value)
    raise InputError(f"{place}: expected a name or an id, found {value!r:.80}")


def read_references(path: Path) -> list[Reference]:
    """Read a file of entities: one on each line, or a column of a .parquet file.

    The column is the one called head, tail, entity or name, else the first; it has names, or ids as whole numbers. The
    first line of a .csv or .tsv file may be one of these titles.
    """
    if path.suffix == ".parquet":
        return _read_column(path)
    names = [name for (name,) in read_lines(path, 1)]
    has_title = path.suffix in (".csv", ".tsv") and bool(names) and names[0].lower() in TITLES
    return [*names[has_title:]]


def _read_column(path: Path) -> list[Reference]:
    try:
        with pq.ParquetFile(path) as file:
            titles = file.schema_arrow.names
            chosen = next((title for title in titles if title.lower() in TITLES), titles[0] if titles else "")
            column = file.read([chosen]).column(0) if titles else pa.chunked_array([], pa.string())
        column.validate(full=True)  # a file may call bytes text that are none
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (is_text or pa.types.is_integer(kind)):
        raise InputError(f"{path}: column {chosen!r} has neither names nor ids, but {kind}")
    if column.null_count:
        raise InputError(f"{path}: column {chosen!r} is empty in {column.null_count:,} rows")
    return column.to_pylist()


def read_lines(path: Path, columns: int) -> list[tuple[str, ...]]:
    """Read a text file with so many names on each line, separated by tabs, or by commas in a .csv file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".csv":
                lines = list(csv.reader(file))
            else:
                lines = [line.split("\t") for line in file.read().splitlines()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = tuple(cell.strip() for cell in line)
        if not any(cells):
            continue
        if len(cells) != columns or not all(cells):
            expected = "one entity" if columns == 1 else "head, tab, tail"
            found = "\t".join(line)[:80]
            raise InputError(f"{path}:{number}: expected {expected}, found {found!r}")
        rows.append(cells)
    return rows


def _read_file(path: Path) -> list[Pair]:
    if path.suffix != ".parquet":
        rows = read_lines(path, 2)
        return [(head, tail) for head, tail in (rows[1:] if rows[:1] and _is_header(rows[0]) else rows)]
    try:
        return _read_table(pq.read_table(path), str(path))
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def _is_header(row: tuple[str, ...]) -> bool:
    return tuple(cell.lower() for cell in row) in NAMES


def _read_table(table: pa.Table, origin: str) -> list[Pair]:
    if table.num_columns < 2:
        raise InputError(f"{origin}: expected two columns, head and tail, found {table.num_columns}")
    named = {name.lower(): place for place, name in reversed(list(enumerate(table.column_names)))}
    places = next(((named[a], named[b]) for a, b in NAMES if a in named and b in named), (0, 1))
    columns = (table.column(place).to_pylist() for place in places)
    return [_checked(pair, number, origin) for number, pair in enumerate(zip(*columns, strict=True), start=1)]


def _checked(pair: Any, number: int, origin: str = "examples") -> Pair:  # noqa: ANN401
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if not (is_pair and all(isinstance(one, str) or is_integer(one) for one in pair)):
        raise InputError(f"{origin}: pair {number}: expected head and tail, by name or id, found {pair!r:.80}")
    return pair[0], pair[1]
