import csv
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tripleshot import tables
from tripleshot.errors import InputError
from tripleshot.tables import Tabular, write_batches


def batches(count=3, name='the "old" town'):
    for index in range(count):
        yield pa.RecordBatch.from_pydict(
            {
                "head": [f"h{index}"] * 2,
                "rank": pa.array([1, 2], pa.int32()),
                "tail": [name, "b"],
                "confidence": pa.array([0.5, None]),
            }
        )


@pytest.mark.parametrize("rows_at_once", [1, 3, 1000])
def test_parquet_has_every_row(tmp_path, monkeypatch, rows_at_once):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", rows_at_once)
    write_batches(batches(), tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == [row for batch in batches() for row in batch.to_pylist()]


def test_text_has_every_row(tmp_path):
    write_batches(batches(), tmp_path / "out.tsv")
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[:3] == ["head\trank\ttail\tconfidence", 'h0\t1\tthe "old" town\t0.5', "h0\t2\tb\t"]
    assert len(lines) == 7
    write_batches(batches(), tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file))[1] == ["h0", "1", 'the "old" town', "0.5"]


@pytest.mark.parametrize("suffix", ["parquet", "tsv", "csv"])
def test_a_failure_leaves_the_old_file(tmp_path, suffix):
    def breaking():
        yield from batches(1)
        raise RuntimeError("power cut")

    path = tmp_path / f"out.{suffix}"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_batches(breaking(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["parquet", "tsv"])
def test_nothing_to_write_is_an_error(tmp_path, suffix):
    with pytest.raises(InputError, match="nothing to write"):
        write_batches([], tmp_path / f"out.{suffix}")


def test_a_name_that_does_not_fit_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"write \.csv"):
        write_batches(batches(name="a\tb"), tmp_path / "out.tsv")
    write_batches(batches(name="a\tb"), tmp_path / "out.csv")


def test_an_unknown_suffix_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(InputError, match=r"\.parquet, \.tsv, \.csv"):
        write_batches(batches(), tmp_path / "out.xlsx")


class Capitals(Tabular):
    def to_arrow(self):
        return pa.table({"country": ["Latvia", "Ghana"], "capital": ["Riga", "Accra"]})


def test_a_table_goes_to_pandas_polars_and_files(tmp_path):
    rows = Capitals().to_arrow().to_pylist()
    assert Capitals().to_pandas().to_dict("records") == rows
    assert Capitals().to_polars().to_dicts() == rows
    Capitals().write(tmp_path / "capitals.parquet")
    assert pq.read_table(tmp_path / "capitals.parquet").to_pylist() == rows
    Capitals().write(str(tmp_path / "capitals.tsv"))
    assert (tmp_path / "capitals.tsv").read_text() == "country\tcapital\nLatvia\tRiga\nGhana\tAccra\n"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_one_line_that_says_what_to_install(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"^to_{library} needs {library}: pip install {library}$"):
        getattr(Capitals(), f"to_{library}")()


def test_a_table_shows_its_first_rows_with_every_name_escaped():
    class Numbers(Tabular):
        def to_arrow(self):
            return pa.table({"name": ["<b>x</b>", *map(str, range(60))], "share": [1 / 3, None, *[0.5] * 59]})

    shown = Numbers().to_html()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "0.333" in shown
    assert "and 11 more rows" in shown
    assert "<b>" not in shown
