import sqlite3
import sys

import adbc_driver_sqlite.dbapi
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers.sql import is_database, read_sql

ROWS = [("Ada", "London", 36), ("Bob", "Paris", 7)]
QUERY = "SELECT person AS s, 'lives in' AS p, city AS o FROM people ORDER BY age DESC"
OVER_FILES = QUERY.replace("people", "data").replace("age", "CAST(age AS INTEGER)")
TRIPLES = [("Ada", "lives in", "London"), ("Bob", "lives in", "Paris")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table as SQLite, DuckDB, CSV, Parquet and a folder of Parquet files."""
    tmp_path = tmp_path_factory.mktemp("tables")
    connection = sqlite3.connect(tmp_path / "people.db")
    connection.execute("CREATE TABLE people (person, city, age)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    with duckdb.connect(tmp_path / "people.duckdb") as other:
        other.execute("CREATE TABLE people (person TEXT, city TEXT, age INTEGER)")
        other.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    table = pa.table(dict(zip(("person", "city", "age"), zip(*ROWS, strict=True), strict=True)))
    pa.csv.write_csv(table, tmp_path / "people.csv")
    pq.write_table(table, tmp_path / "people.parquet")
    (tmp_path / "shards").mkdir()
    for number in range(2):
        pq.write_table(table.slice(number, 1), tmp_path / "shards" / f"{number}.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("people.db", QUERY),
        ("people.duckdb", QUERY),
        ("people.csv", OVER_FILES),
        ("people.parquet", OVER_FILES),
        ("shards", OVER_FILES),
    ],
)
def test_the_same_triples_are_read_from_every_file(folder, name, query):
    assert named(read_sql(folder / name, query)) == TRIPLES
    assert is_database(folder / name) == (query is QUERY)


def test_connections_are_read_and_stay_open(folder):
    connection = sqlite3.connect(folder / "people.db")
    with (
        duckdb.connect(folder / "people.duckdb") as other,
        adbc_driver_sqlite.dbapi.connect(str(folder / "people.db")) as third,
    ):
        for _ in range(2):
            assert [named(read_sql(one, QUERY)) for one in (connection, other, third)] == [TRIPLES] * 3
    connection.close()


def test_columns_are_found_by_name_and_integers_are_names(folder):
    query = "SELECT age AS tail, city AS head, 'had' AS relation, person FROM people"
    expected = [("London", "had", "36"), ("Paris", "had", "7")]
    for name in ("people.db", "people.duckdb"):
        assert named(read_sql(folder / name, query)) == expected
        columns = ("head", "relation", "person")
        assert named(read_sql(folder / name, query, columns=columns))[0] == ("London", "had", "Ada")


def test_names_in_text_files_stay_as_they_are(tmp_path):
    (tmp_path / "codes.csv").write_text("a,b\n007,1e3\n")
    assert named(read_sql(tmp_path / "codes.csv", "SELECT a, 'r', b FROM data")) == [("007", "r", "1e3")]


def test_reading_stops_where_it_was_told_to(folder):
    told = []
    for name in ("people.db", "people.duckdb"):
        with pytest.warns(InputWarning, match="stopped at 1 triples"):
            read_sql(folder / name, QUERY, max_triples=1, progress=lambda done, total: told.append(done))
    assert told == [1]
    with pytest.raises(InputError, match="max_triples: expected 1 or more"):
        read_sql(folder / "people.duckdb", QUERY, max_triples=0)


@pytest.mark.parametrize("name", ["people.db", "people.duckdb"])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nothing", "people.*nothing"),
        ("SELECT 'a' AS s, NULL AS p, 'b' AS o", "row 1: expected a name"),
        ("SELECT 'a' AS s, 'r' AS p, 1.5 AS o", "expected (a name as text or integer|text or integers)"),
        ("SELECT 'a' AS s, '' AS p, 'b' AS o", "expected three names, found an empty one"),
        ("SELECT * FROM people WHERE age > 99", "found (none|no rows)"),
        ("DELETE FROM people", "read.?only"),
    ],
)
def test_what_is_no_triple_or_no_query_is_refused(folder, name, query, message):
    with pytest.raises(InputError, match=message):
        read_sql(folder / name, query)
    assert len(read_sql(folder / name, QUERY).entities) == 4


def test_what_is_no_database_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_sql(tmp_path / "none.csv", QUERY)
    with pytest.raises(InputError, match="expected a path, or a connection"):
        read_sql(object(), QUERY)


def test_sqlite_needs_no_other_package_and_others_say_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert named(read_sql(folder / "people.db", QUERY)) == TRIPLES
    with pytest.raises(InputError, match=r"pip install 'tripleshot\[duckdb\]'"):
        read_sql(folder / "people.csv", OVER_FILES)
