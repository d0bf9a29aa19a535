"""Parquet files and data frames: whatever Arrow can see as columns."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import pick_columns
from tripleshot.graph.readers.descriptions import describe_graph, description_columns
from tripleshot.graph.readers.encoding import encode_names, warn_of_duplicates
from tripleshot.graph.readers.sources import MAX_TRIPLES, Progress, open_binary, reason, warn_stopped

TEXT = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary())
MAX_SHARDS = 10_000


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> KnowledgeGraph:
    """Read a Parquet file; only the columns that hold the triples, their labels and types are loaded."""
    return _read_table(_load_parquet(path, columns), str(path))


def read_shards(folder: Path, columns: Sequence[str] | None = None) -> KnowledgeGraph:
    """Read all Parquet files of a folder, and of those in it, as one graph, in the order of their names."""
    tables = [_load_parquet(path, columns) for path in find_shards(folder)]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"{folder}: the files have different columns: {reason(error)}") from error
    return _read_table(table, str(folder))


def find_shards(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder that is not hidden, in order."""
    found = list(islice(folder.rglob("*.parquet"), MAX_SHARDS + 1))
    if len(found) > MAX_SHARDS:
        raise InputError(f"{folder}: has more than {MAX_SHARDS:,} Parquet files")
    paths = [path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    return sorted(path for path in paths if path.is_file())


def _load_parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: expected a Parquet file as it is, found one packed once more")
    with open_binary(path) as stream:
        file = pq.ParquetFile(stream)
        names = file.schema_arrow.names
        wanted = [names[pick] for pick in pick_columns(names, columns, str(path))]
        wanted += description_columns(file.schema_arrow, wanted)
        return file.read(columns=wanted).select(wanted)


def read_frame(frame: Any, columns: Sequence[str] | None = None) -> KnowledgeGraph:  # noqa: ANN401 (any Arrow producer)
    """Read a data frame of pandas, polars or anything else that hands its columns to Arrow."""
    origin = type(frame).__name__
    try:
        # pandas would hand over its index as one more column.
        is_pandas = hasattr(frame, "iloc")
        table = pa.Table.from_pandas(frame, preserve_index=False) if is_pandas else pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{origin}: cannot be read as a table: {reason(error)}") from error
    picks = pick_columns(table.column_names, columns, origin)
    more = description_columns(table.schema, [table.column_names[pick] for pick in picks])
    return _read_table(table.select([*picks, *map(table.column_names.index, more)]), origin)


def read_batches(
    batches: pa.RecordBatchReader,
    columns: Sequence[str] | None,
    origin: str,
    max_triples: int = MAX_TRIPLES,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Read a stream of batches, of which the three columns are held that are the triples.

    Args:
        batches: with any number of columns.
        columns: names of those of head, relation and tail, as in `read_graph`.
        origin: what they come from, for messages.
        max_triples: at which reading stops, with a warning.
        progress: told how many rows have come.
    """
    if max_triples < 1:
        raise InputError(f"max_triples: expected 1 or more, found {max_triples}")
    picks = list(pick_columns(batches.schema.names, columns, origin))
    schema = pa.schema([batches.schema.field(pick) for pick in picks])
    kept, num_rows = [], 0
    for batch in batches:
        kept.append(batch.select(picks).slice(0, max_triples - num_rows))
        num_rows += len(kept[-1])
        if progress is not None:
            progress(num_rows, None)
        if len(kept[-1]) < len(batch):
            warn_stopped(origin, num_rows)
            break
    return _read_table(pa.Table.from_batches(kept, schema), origin)


def _read_table(table: pa.Table, origin: str) -> KnowledgeGraph:
    """Read a table whose columns are head, relation, tail and those that describe them."""
    if len(table) == 0:
        raise InputError(f"{origin}: expected triples, found no rows")
    names = [_as_names(table.column(index), table.column_names[index], origin) for index in range(3)]
    encoded = encode_names(*names)
    if encoded.first_blank is not None:
        row = [column[encoded.first_blank].as_py() for column in table.columns[:3]]
        raise InputError(f"{origin}: row {encoded.first_blank + 1}: expected three names, found an empty one: {row}")
    warn_of_duplicates(encoded, origin, "row")
    return describe_graph(encoded.graph, table, names) if table.num_columns > 3 else encoded.graph


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
