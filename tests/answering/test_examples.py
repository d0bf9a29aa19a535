import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tripleshot.answering.examples import read_examples, read_references
from tripleshot.errors import InputError

PAIRS = [("Odesa", "Black Sea"), ("Jeddah", "Red Sea")]
COLUMNS = {"note": ["x", "y"], "tail": [pair[1] for pair in PAIRS], "Head": [pair[0] for pair in PAIRS]}


@pytest.mark.parametrize(
    "source",
    [
        PAIRS,
        iter(PAIRS),
        [list(pair) for pair in PAIRS],
        pd.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
    ],
    ids=["pairs", "iterator", "lists", "pandas", "polars", "arrow"],
)
def test_examples_in_memory(source):
    assert read_examples(source) == PAIRS


def test_without_names_the_first_two_columns_are_taken():
    assert read_examples(pa.table({"a": ["Odesa"], "b": ["Black Sea"], "c": ["x"]})) == PAIRS[:1]


@pytest.mark.parametrize("header", ["", "head{}tail\n", "subject{}object\n"])
@pytest.mark.parametrize(("suffix", "mark"), [(".tsv", "\t"), (".txt", "\t"), (".csv", ",")])
def test_examples_in_text_files(tmp_path, header, suffix, mark):
    path = tmp_path / f"examples{suffix}"
    path.write_text(header.format(mark) + "\n\n".join(mark.join(pair) for pair in PAIRS) + "\n")
    assert read_examples(path) == read_examples(str(path)) == PAIRS


def test_examples_in_parquet(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "examples.parquet")
    assert read_examples(tmp_path / "examples.parquet") == PAIRS


@pytest.mark.parametrize("source", [[("a", "b", "c")], ["ab"], [("a", None)], [(True, "b")], 5, pa.table({"a": ["b"]})])
def test_what_is_no_pair_is_refused(source):
    with pytest.raises(InputError, match="examples"):
        read_examples(source)


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "examples.tsv"
    path.write_text("Odesa\tBlack Sea\nJeddah\n")
    with pytest.raises(InputError, match=r"examples\.tsv:2: expected head, tab, tail, found 'Jeddah'"):
        read_examples(path)


def test_heads_are_read_line_by_line(tmp_path):
    path = tmp_path / "heads.txt"
    path.write_text("Odesa\n\nJeddah\n")
    assert read_references(path) == ["Odesa", "Jeddah"]


@pytest.mark.parametrize("name", ["heads.csv", "heads.tsv"])
def test_a_title_over_heads_is_no_head(tmp_path, name):
    path = tmp_path / name
    path.write_text("Head\nOdesa\nJeddah\n")
    assert read_references(path) == ["Odesa", "Jeddah"]


def test_heads_are_a_column_of_a_parquet_file_by_its_title_or_the_first(tmp_path):
    path = tmp_path / "heads.parquet"
    pq.write_table(pa.table({"place": [1, 2], "head": pa.array(["Odesa", "Jeddah"]).dictionary_encode()}), path)
    assert read_references(path) == ["Odesa", "Jeddah"]
    pq.write_table(pa.table({"place": [1, 2]}), path)
    assert read_references(path) == [1, 2]


@pytest.mark.parametrize(
    ("column", "message"),
    [([0.5], "neither names nor ids, but double"), (["Odesa", None], "column 'head' is empty in 1 rows")],
)
def test_a_column_that_has_no_heads_is_refused(tmp_path, column, message):
    pq.write_table(pa.table({"head": column}), tmp_path / "heads.parquet")
    with pytest.raises(InputError, match=message):
        read_references(tmp_path / "heads.parquet")


def test_a_parquet_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "heads.parquet").write_text("Odesa\n")
    with pytest.raises(InputError, match=r"heads\.parquet: cannot be read"):
        read_references(tmp_path / "heads.parquet")


@pytest.mark.parametrize("read", [read_references, read_examples])
def test_a_parquet_file_whose_titles_are_no_text_is_refused(tmp_path, read):
    path = tmp_path / "heads.parquet"
    pq.write_table(pa.table({"head": ["Odesa"], "tail": ["Black Sea"]}), path)
    path.write_bytes(path.read_bytes().replace(b"head", b"he\x80d"))
    with pytest.raises(InputError, match=r"heads\.parquet: cannot be read"):
        read(path)
