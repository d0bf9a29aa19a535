"""Parquet files and data frames: whatever Arrow can see as columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import pick_columns
from tripleshot.graph.readers.encoding import encode_names, warn_of_duplicates
from tripleshot.graph.readers.sources import open_binary, reason

TEXT = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary())


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> KnowledgeGraph:
    """Read a Parquet file; only the three columns that hold the triples are loaded."""
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: expected a Parquet file as it is, found one packed once more")
    with open_binary(path) as stream:
        file = pq.ParquetFile(stream)
        names = file.schema_arrow.names
        wanted = [names[pick] for pick in pick_columns(names, columns, str(path))]
        table = file.read(columns=wanted).select(wanted)
    return _read_table(table, str(path))


def read_frame(frame: Any, columns: Sequence[str] | None = None) -> KnowledgeGraph:  # noqa: ANN401 (any Arrow producer)
    """Read a data frame of pandas, polars or anything else that hands its columns to Arrow."""
    origin = type(frame).__name__
    try:
        # pandas would hand over its index as one more column.
        is_pandas = hasattr(frame, "iloc")
        table = pa.Table.from_pandas(frame, preserve_index=False) if is_pandas else pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{origin}: cannot be read as a table: {reason(error)}") from error
    return _read_table(table.select(pick_columns(table.column_names, columns, origin)), origin)


def _read_table(table: pa.Table, origin: str) -> KnowledgeGraph:
    """Read a table whose columns are head, relation and tail."""
    if len(table) == 0:
        raise InputError(f"{origin}: expected triples, found no rows")
    encoded = encode_names(*(_as_names(table.column(index), table.column_names[index], origin) for index in range(3)))
    if encoded.first_blank is not None:
        row = [column[encoded.first_blank].as_py() for column in table.columns]
        raise InputError(f"{origin}: row {encoded.first_blank + 1}: expected three names, found an empty one: {row}")
    warn_of_duplicates(encoded, origin, "row")
    return encoded.graph


def _as_names(column: pa.ChunkedArray, name: str, origin: str) -> pa.ChunkedArray:
    _refuse_nulls(column, name, origin)
    is_encoded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if is_encoded else column.type
    if kind not in TEXT and not pa.types.is_integer(kind):
        raise InputError(f"{origin}: column {name!r}: expected text or integers, found {kind}")
    try:
        names = _decode(column) if is_encoded else column.cast(pa.large_string())
        names.validate(full=True)  # a file may call bytes text that are none
    except pa.ArrowException as error:
        raise InputError(f"{origin}: column {name!r}: expected UTF-8 text: {reason(error)}") from error
    _refuse_nulls(names, name, origin)
    return names


def _decode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Look categories up by hand, for Arrow does not cast all of their types (those of polars are views)."""
    return pa.chunked_array([chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks])


def _refuse_nulls(column: pa.ChunkedArray, name: str, origin: str) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py() + 1
        raise InputError(f"{origin}: row {row}: expected a name in column {name!r}, found nothing")
