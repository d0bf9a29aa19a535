"""Tables of databases: what a query in SQL returns as head, relation and tail.

Files of DuckDB, Parquet and CSV are asked through DuckDB, those of SQLite through Python's own module, and any other
database through a connection that its driver has made: ADBC, whose batches are taken as they come, or DB-API.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tripleshot.errors import InputError, TripleshotError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import pick_columns
from tripleshot.graph.readers.memory import as_name, bounded, read_names
from tripleshot.graph.readers.sources import MAX_TRIPLES, Progress, is_directory, open_binary, reason
from tripleshot.graph.readers.tables import find_shards, read_batches

VIEW = "data"  # what a query calls the rows of a file
ROWS_AT_ONCE = 100_000
SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"  # at the beginning of a file, and 8 bytes behind it


def read_sql(
    source: Any,  # noqa: ANN401 (connections are of libraries that need not be installed)
    query: str,
    *,
    columns: Sequence[str] | None = None,
    max_triples: int = MAX_TRIPLES,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Read the rows of a query as triples.

    Args:
        source: a file of DuckDB or SQLite; a file of Parquet or CSV, or a folder of Parquet files, whose rows are the
            table `data` of the query; or a connection of DuckDB, ADBC or DB-API, which stays open.
        query: in the database's SQL; it returns a head, a relation and a tail.
        columns: names of those columns where they are not the usual ones and there are others.
        max_triples: at which reading stops, with a warning.
        progress: told how many rows have come.

    Raises:
        InputError: there is no such file, the query is wrong, or it returns something that is not a triple.
    """
    if not isinstance(source, str | PathLike):
        kind = f"{type(source).__module__}.{type(source).__name__}"
        return _read_connection(source, query, kind, columns, max_triples, progress)
    path = Path(source)
    with _database_errors(str(path)), _open(path) as connection:
        return _read_connection(connection, query, str(path), columns, max_triples, progress)


def is_database(path: Path) -> bool:
    """Tell whether a file is a database of SQLite or DuckDB, by what it holds."""
    return path.is_file() and _kind(path) != ""


def _kind(path: Path) -> str:
    with open_binary(path) as stream:
        start = stream.read(16)
    return "sqlite" if start == SQLITE else "duckdb" if start[8:12] == DUCKDB else ""


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a file for reading only; DuckDB fetches no extension for it from anywhere."""
    kind = "" if is_directory(path) else _kind(path)
    if kind == "sqlite":
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            yield connection
        return
    try:
        import duckdb
    except ModuleNotFoundError:
        raise InputError(f"{path}: SQL over this file needs DuckDB: pip install 'tripleshot[duckdb]'") from None
    settings: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
    if kind == "duckdb":
        with duckdb.connect(str(path), read_only=True, config=settings) as connection:
            yield connection
        return
    with duckdb.connect(config=settings) as connection:
        if is_directory(path):
            rows = connection.read_parquet([str(shard) for shard in find_shards(path)])
        elif path.suffix.lower() == ".parquet":
            rows = connection.read_parquet(str(path))
        else:
            rows = connection.read_csv(str(path), all_varchar=True)
        rows.create_view(VIEW)
        yield connection


def _read_connection(
    connection: Any,  # noqa: ANN401 (of any library)
    query: str,
    origin: str,
    columns: Sequence[str] | None,
    max_triples: int,
    progress: Progress | None,
) -> KnowledgeGraph:
    with _database_errors(origin):
        if hasattr(connection, "to_arrow_reader"):  # DuckDB, whose cursors do not see what a connection has registered
            rows = connection.sql(query)
            if rows is None:
                raise InputError(f"{origin}: expected a query that returns rows")
            return read_batches(rows.to_arrow_reader(ROWS_AT_ONCE), columns, origin, max_triples, progress)
        if not hasattr(connection, "cursor"):
            raise InputError(f"{origin}: expected a path, or a connection of DuckDB, ADBC or DB-API")
        with closing(connection.cursor()) as cursor:
            cursor.execute(query)
            if hasattr(cursor, "fetch_record_batch"):  # ADBC
                return read_batches(cursor.fetch_record_batch(), columns, origin, max_triples, progress)
            return read_names(bounded(_rows(cursor, columns, origin), max_triples, origin, progress), origin)


def _rows(cursor: Any, columns: Sequence[str] | None, origin: str) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    if cursor.description is None:
        raise InputError(f"{origin}: expected a query that returns rows")
    picks = pick_columns([column[0] for column in cursor.description], columns, origin)
    number = 0
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        for row in rows:
            number += 1
            head, relation, tail = (as_name(row[pick], f"{origin}: row {number}") for pick in picks)
            yield head, relation, tail


@contextmanager
def _database_errors(origin: str) -> Iterator[None]:
    """Say in one line what a database says; every driver has errors of its own."""
    try:
        yield
    except (TripleshotError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{origin}: {reason(error)}") from error
