import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph

COLUMNS = {"head": ["a", "b"], "relation": ["r", "s"], "tail": ["b", "c"]}


def as_categories(cells, kind):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(cells)), pa.uint32()), pa.array(cells, kind))


class Frame:
    """A data frame of a library we do not know, with Arrow's protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(COLUMNS),
        pa.record_batch(COLUMNS),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[7, 3]),
        pd.DataFrame(COLUMNS).astype("category"),
        Frame(pa.table(COLUMNS)),
        Frame(pa.table({name: pa.array(cells, pa.string_view()) for name, cells in COLUMNS.items()})),
        Frame(pa.table({name: pa.array(cells).dictionary_encode() for name, cells in COLUMNS.items()})),
        Frame(pa.table({name: as_categories(cells, pa.string_view()) for name, cells in COLUMNS.items()})),
        pa.table({"x": ["a", "b"], "y": ["r", "s"], "z": ["b", "c"]}),
        pa.table({"weight": [0.5, 0.1], "Target": ["b", "c"], "Source": ["a", "b"], "Relation": ["r", "s"]}),
    ],
)
def test_the_same_triples_are_read_from_each_frame(frame):
    assert named(read_graph(frame)) == [("a", "r", "b"), ("b", "s", "c")]


def test_parquet_is_read_by_column_names(tmp_path):
    path = tmp_path / "graph.parquet"
    pq.write_table(pa.table({"id": [1, 2], "t": ["b", "c"], "r": ["r", "s"], "h": ["a", "b"]}), path)
    assert named(read_graph(path)) == [("a", "r", "b"), ("b", "s", "c")]
    assert named(read_graph(path, columns=("t", "r", "h"))) == [("b", "r", "a"), ("c", "s", "b")]
    with pytest.raises(InputError, match=r"graph\.parquet: no column named 'hh'; did you mean 'h'\?"):
        read_graph(path, columns=("hh", "r", "t"))


def test_integers_become_names():
    table = pa.table({"head": [1, 2], "relation": pa.array([0, 0], pa.uint8()), "tail": [2, -3]})
    assert named(read_graph(table)) == [("1", "0", "2"), ("2", "0", "-3")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tail": ["b", None]}, "row 2: expected a name in column 'tail', found nothing"),
        ({"head": [None, None]}, "row 1: expected a name in column 'head', found nothing"),
        ({"head": ["a", " "]}, "row 2: expected three names, found an empty one: [' ', 's', 'c']"),
        ({"relation": ["", "s"]}, "row 1: expected three names, found an empty one: ['a', '', 'b']"),
        ({"relation": [1.5, 2.5]}, "column 'relation': expected text or integers, found double"),
        ({"tail": [b"b", b"\xff"]}, "column 'tail': expected UTF-8 text: Invalid UTF8 payload"),
        ({"more": ["x", "y"], "Head": ["x", "y"]}, "cannot tell head, relation and tail among 5 columns"),
        ({"head": [], "relation": [], "tail": []}, "expected triples, found no rows"),
    ],
)
def test_tables_without_three_names_a_row_are_refused(tmp_path, columns, message):
    table = pa.table(COLUMNS | columns)
    path = tmp_path / "graph.parquet"
    pq.write_table(table, path)
    for source, origin in ((table, "Table"), (path, str(path))):
        with pytest.raises(InputError) as caught:
            read_graph(source)
        assert str(caught.value).startswith(f"{origin}: {message}")


def test_a_category_that_is_missing_is_refused():
    table = pa.table(COLUMNS | {"tail": as_categories(["b", None], pa.string())})
    with pytest.raises(InputError, match="Table: row 2: expected a name in column 'tail', found nothing"):
        read_graph(table)


def test_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([["a"], ["r"], ["b"]], names=["x", "x", "y"])
    path = tmp_path / "graph.parquet"
    pq.write_table(table, path)
    for source in (table, path):
        with pytest.raises(InputError, match=r"cannot tell head, relation and tail among 3 columns \('x', 'x', 'y'\)"):
            read_graph(source)


def test_a_pandas_frame_with_mixed_cells_is_refused():
    frame = pd.DataFrame({"head": ["a", 1], "relation": ["r", "s"], "tail": ["b", "c"]}, dtype=object)
    with pytest.raises(InputError, match="DataFrame: cannot be read as a table"):
        read_graph(frame)


def test_duplicates_are_counted_with_the_row_of_the_first():
    table = pa.table({"head": ["a", "b", "a", "a"], "relation": ["r"] * 4, "tail": ["b"] * 4})
    with pytest.warns(InputWarning, match="Table: row 3: 2 duplicate triples skipped, the first here"):
        graph = read_graph(table)
    assert named(graph) == [("a", "r", "b"), ("b", "r", "b")]


def test_files_that_are_no_parquet_are_refused(tmp_path):
    path = tmp_path / "graph.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(InputError, match=r"graph\.parquet: cannot be read"):
        read_graph(path)
    with pytest.raises(InputError, match="no such file"):
        read_graph(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="expected a Parquet file as it is, found one packed once more"):
        read_graph(tmp_path / "graph.parquet.gz")


def test_text_in_a_parquet_file_that_is_no_utf8_is_refused(tmp_path):
    path = tmp_path / "graph.parquet"
    pq.write_table(pa.table({"head": ["abcd"], "relation": ["r"], "tail": ["t"]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"abcd", b"ab\xff\xfe"))
    with pytest.raises(InputError, match=r"graph.parquet: .*UTF"):
        read_graph(path)


def test_a_folder_of_parquet_files_is_one_graph(tmp_path):
    (tmp_path / "data").mkdir()
    for number in range(3):
        table = pa.table({"head": [f"a{number}"], "relation": ["r"], "tail": ["b"], "weight": [number]})
        pq.write_table(table, tmp_path / "data" / f"train-{number:05}-of-00003.parquet")
    (tmp_path / "README.md").write_text("no shard")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "old.parquet").write_bytes(b"broken")
    assert named(read_graph(tmp_path)) == [(f"a{number}", "r", "b") for number in range(3)]
    pq.write_table(pa.table({"head": [1], "relation": ["r"], "tail": ["b"]}), tmp_path / "more.parquet")
    with pytest.raises(InputError, match="the files have different columns"):
        read_graph(tmp_path)


@pytest.mark.parametrize("frame", [pl.DataFrame(COLUMNS), pa.table(COLUMNS).to_reader()])
def test_frames_of_polars_and_streams_of_arrow_are_read(frame):
    assert named(read_graph(frame)) == [("a", "r", "b"), ("b", "s", "c")]
