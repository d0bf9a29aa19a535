import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tripleshot.answering import export as answer_files
from tripleshot.answering.export import write_answers
from tripleshot.errors import InputError


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
    monkeypatch.setattr(answer_files, "ROWS_AT_ONCE", rows_at_once)
    write_answers(batches(), tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == [row for batch in batches() for row in batch.to_pylist()]


def test_text_has_every_row(tmp_path):
    write_answers(batches(), tmp_path / "out.tsv")
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[:3] == ["head\trank\ttail\tconfidence", 'h0\t1\tthe "old" town\t0.5', "h0\t2\tb\t"]
    assert len(lines) == 7
    write_answers(batches(), tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file))[1] == ["h0", "1", 'the "old" town', "0.5"]


def test_progress_counts_heads(tmp_path):
    done = []
    write_answers(batches(), tmp_path / "out.csv", done.append)
    assert done == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["parquet", "tsv", "csv"])
def test_a_failure_leaves_the_old_file(tmp_path, suffix):
    def breaking():
        yield from batches(1)
        raise RuntimeError("power cut")

    path = tmp_path / f"out.{suffix}"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_answers(breaking(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["parquet", "tsv"])
def test_no_heads_are_an_error(tmp_path, suffix):
    with pytest.raises(InputError, match="no head"):
        write_answers([], tmp_path / f"out.{suffix}")


def test_a_name_that_does_not_fit_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"write \.csv"):
        write_answers(batches(name="a\tb"), tmp_path / "out.tsv")
    write_answers(batches(name="a\tb"), tmp_path / "out.csv")


def test_an_unknown_suffix_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(InputError, match=r"\.parquet, \.tsv, \.csv"):
        write_answers(batches(), tmp_path / "out.xlsx")
