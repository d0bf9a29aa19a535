import csv
import gzip
import io
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.delimited import find_layout, read_fast, read_plain
from tripleshot.graph.readers.encoding import encode_names

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)
TSV_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1, max_size=8
).filter(str.strip)
# Few letters, so that blanks, quotes, line ends and repeated triples all happen often.
RAGGED = st.text(st.sampled_from('ab"\t, \r\n'), max_size=40)
ROWS = st.lists(st.tuples(*[st.sampled_from(["a", "b", '"', '"c', "", " ", "ü"])] * 3), max_size=6)


def lists_of(names):
    return st.lists(st.tuples(names, names, names), min_size=1, max_size=12, unique=True)


def as_tsv(triples):
    # A byte order mark in front, so that a first name that begins with one is still its own.
    return ("\ufeff" + "".join("\t".join(triple) + "\n" for triple in triples)).encode()


def as_csv(triples):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(triples)
    return ("\ufeff" + text.getvalue()).encode()


def as_zst(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


def from_bytes(folder, name, content, **options):
    path = folder / name
    path.write_bytes(content)
    return named(read_graph(path, **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round_trips")


@given(triples=lists_of(TSV_TEXT))
def test_triples_survive_tsv_packed_or_not(folder, triples):
    content = as_tsv(triples)
    assert from_bytes(folder, "graph.tsv", content, header=False) == triples
    assert from_bytes(folder, "graph.tsv.gz", gzip.compress(content), header=False) == triples
    assert from_bytes(folder, "graph.tsv.zst", as_zst(content), header=False) == triples


@given(triples=lists_of(ANY_TEXT))
def test_triples_survive_csv_packed_or_not(folder, triples):
    content = as_csv(triples)
    assert from_bytes(folder, "graph.csv", content, header=False) == triples
    assert from_bytes(folder, "graph.csv.gz", gzip.compress(content), header=False) == triples


@given(triples=lists_of(ANY_TEXT))
def test_triples_survive_tables_and_iterables(folder, triples):
    frame = pd.DataFrame(triples, columns=["head", "relation", "tail"])
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, folder / "graph.parquet")
    for source in (triples, frame, table, folder / "graph.parquet"):
        assert named(read_graph(source)) == triples


@given(text=RAGGED | ROWS.map(lambda rows: "".join("\t".join(row) + "\n" for row in rows)), header=st.booleans())
@pytest.mark.parametrize("name", ["graph.tsv", "graph.csv"])
def test_the_fast_reader_agrees_with_the_plain_one(folder, name, text, header):
    path = Path(folder, name)
    path.write_bytes(text.replace("\t", "," if name == "graph.csv" else "\t").encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            layout = find_layout(path, header, None, None)
        except InputError:
            return
        for skip_empty_lines in (False, True):
            fast = read_fast(path, layout, skip_empty_lines)
            if fast is None or fast.first_blank is not None:
                continue
            plain = encode_names(*read_plain(path, layout))
            assert named(fast.graph) == named(plain.graph)
            assert fast.graph.entities.names.equals(plain.graph.entities.names)
            assert (fast.num_duplicates, fast.first_duplicate) == (plain.num_duplicates, plain.first_duplicate)


@pytest.mark.parametrize(("name", "end"), [("graph.tsv", "\r\n"), ("graph.tsv", "\n"), ("graph.csv", "\r\n")])
def test_the_blocks_of_a_larger_file_do_not_show(folder, name, end):
    inside = end if name == "graph.csv" else " "
    triples = [(f"{'x' * (number % 50)}{inside}{number}", "r", str(number)) for number in range(60_000)]
    content = as_csv(triples) if name == "graph.csv" else as_tsv(triples).replace(b"\n", end.encode())
    path = folder / name
    path.write_bytes(content)
    assert len(content) > 2 * 2**20
    fast = read_fast(path, find_layout(path, None, None, None))
    assert fast is not None
    assert named(fast.graph) == triples


@given(rows=st.lists(st.tuples(*[st.sampled_from("abcd")] * 3), min_size=1, max_size=40))
def test_ids_and_duplicates_agree_with_a_dict(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        graph = read_graph(rows)
    assert named(graph) == list(dict.fromkeys(rows))
    names = [head for head, _, _ in rows] + [tail for _, _, tail in rows]
    assert graph.entities.names.to_pylist() == list(dict.fromkeys(names))
