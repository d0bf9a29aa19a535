import gzip
import re

import numpy as np
import pytest

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph

TRIPLES = [("Ada", "knows", "Charles"), ("Charles", "built", "the engine")]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path, **options):
    """Return what is said about a file that cannot be read, without the directory."""
    with pytest.raises(InputError) as caught:
        read_graph(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("graph.tsv", "Ada\tknows\tCharles\nCharles\tbuilt\tthe engine\n"),
        ("graph.tsv", "Ada\tknows\tCharles\r\nCharles\tbuilt\tthe engine"),
        ("graph.tsv", "\ufeffAda\tknows\tCharles\nCharles\tbuilt\tthe engine\n"),
        ("graph.csv", 'Ada,knows,Charles\n"Charles",built,"the engine"\n'),
        ("graph.txt", "Ada;knows;Charles\nCharles;built;the engine\n"),
        ("graph.txt", "Ada|knows|Charles\nCharles|built|the engine\n"),
        ("path_graph", "Ada\tknows\tCharles\nCharles\tbuilt\tthe engine\n"),
        ("graph.tsv", "head\trelation\ttail\nAda\tknows\tCharles\nCharles\tbuilt\tthe engine\n"),
        ("graph.csv", "when,Object,Predicate,Subject\n1833,Charles,knows,Ada\n1837,the engine,built,Charles\n"),
        ("graph.tsv.gz", gzip.compress(b"Ada\tknows\tCharles\nCharles\tbuilt\tthe engine\n", mtime=0)),
    ],
)
def test_the_same_triples_are_read_from_each_layout(write, name, content):
    assert named(read_graph(write(name, content))) == TRIPLES


def test_spaces_separate_when_nothing_else_does(write):
    assert named(read_graph(write("graph.txt", "a r b\nb r c\n"))) == [("a", "r", "b"), ("b", "r", "c")]


def test_ids_follow_first_appearance_of_heads_then_tails(write):
    graph = read_graph(write("graph.tsv", "b\tr\ta\nc\ts\tb\nb\tr\td\n"))
    assert graph.entities.names.to_pylist() == ["b", "c", "a", "d"]
    assert graph.relations.names.to_pylist() == ["r", "s"]
    assert graph.head_ids.dtype == graph.relation_ids.dtype == graph.tail_ids.dtype == np.int32
    assert (graph.entities.kind, graph.relations.kind) == ("entity", "relation")


def test_a_directory_is_read_through_its_path_graph(write):
    path = write("path_graph", "Ada\tknows\tCharles\nCharles\tbuilt\tthe engine\n")
    assert named(read_graph(str(path.parent))) == TRIPLES


def test_words_that_mean_nothing_elsewhere_are_names_here(write):
    path = write("graph.csv", "NA,null,NaN\n1,#N/A,None\n")
    assert named(read_graph(path)) == [("NA", "null", "NaN"), ("1", "#N/A", "None")]


def test_quotes_are_part_of_a_name_in_tsv_and_enclose_one_in_csv(write):
    assert named(read_graph(write("a.tsv", '"a\tr\t"b"\n'))) == [('"a', "r", '"b"')]
    assert named(read_graph(write("a.csv", '"a, ""b""\n!",r,c\n'))) == [('a, "b"\n!', "r", "c")]


def test_columns_are_picked_by_name(write):
    path = write("graph.csv", "id,who,what,other\n1,Ada,knows,Charles\n2,Charles,built,the engine\n")
    assert named(read_graph(path, columns=("who", "what", "other"))) == TRIPLES
    assert refusal(path, columns=("who", "what", "othr")) == (
        "graph.csv:1: no column named 'othr'; did you mean 'other'?"
    )
    assert refusal(path, header=True).startswith("graph.csv:1: cannot tell head, relation and tail among 4 columns")
    assert "header=False" in refusal(path, columns=("who", "what", "other"), header=False)
    assert refusal(path, columns=("who", "what")).startswith("columns: expected the three names")


def test_what_looks_like_a_header_can_be_said_to_be_a_triple(write):
    path = write("graph.tsv", "head\trelation\ttail\na\tr\tb\n")
    assert read_graph(path, header=False).num_triples == 2
    assert read_graph(write("other.tsv", "x\ty\tz\na\tr\tb\n"), header=True).num_triples == 1


def test_a_header_of_unusual_names_is_pointed_out_and_stays_a_triple(write):
    rows = "".join(f"a{n},lives in,b{n}\nb{n},lies in,c\n" for n in range(12))
    path = write("graph.csv", "from,how,to\n" + rows)
    with pytest.warns(InputWarning, match=r"graph.csv:1: read as a triple, but its names stand nowhere else") as caught:
        graph = read_graph(path)
    assert "columns=(head, relation, tail)" in str(caught[0].message)
    assert graph.relations.names.to_pylist()[0] == "how"
    assert "how" not in read_graph(path, columns=("from", "how", "to")).relations.names.to_pylist()
    assert read_graph(path, header=False).num_triples == graph.num_triples
    for first in ("a0,how,d", "d,how,a0", "d,lies in,e"):
        read_graph(write("plain.csv", f"{first}\n{rows}"))


def test_a_delimiter_can_be_given(write):
    assert named(read_graph(write("graph.tsv", "a:r:b\n"), delimiter=":")) == [("a", "r", "b")]
    assert refusal(write("graph.tsv", "a::r::b\n"), delimiter="::").startswith("delimiter: expected one character")


def test_blank_lines_are_counted_in_one_warning(write):
    path = write("graph.tsv", "a\tr\tb\n\n  \nb\tr\tc\n\t\t\n")
    with pytest.warns(InputWarning, match=r"graph\.tsv:2: 3 blank lines skipped, the first here$") as caught:
        graph = read_graph(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert named(graph) == [("a", "r", "b"), ("b", "r", "c")]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("graph.tsv", "a\tr\tb\n\nb\tr\tc\n\n", 2),
        ("graph.tsv", "head\trelation\ttail\na\tr\tb\nb\tr\tc\n\n\n", 4),
        ("graph.tsv", "\n\nhead\trelation\ttail\na\tr\tb\nb\tr\tc\n", 1),
        ("graph.csv", '"a",r,b\r\nb,r,c\r\n\r\n\r\n', 3),
    ],
)
def test_empty_lines_may_stand_anywhere(write, name, content, line):
    with pytest.warns(InputWarning, match=rf"{name}:{line}: 2 blank lines skipped, the first here$"):
        graph = read_graph(write(name, content))
    assert named(graph) == [("a", "r", "b"), ("b", "r", "c")]


def test_duplicates_are_kept_once_and_counted_in_one_warning(write):
    path = write("graph.csv", 'head,relation,tail\n"x\ny",r,b\na,r,b\nc,r,b\na,r,b\na,r,b\n"x\ny",r,b\n')
    with pytest.warns(InputWarning, match=r"graph\.csv:6: 3 duplicate triples skipped, the first here$") as caught:
        graph = read_graph(path)
    assert len(caught) == 1
    assert named(graph) == [("x\ny", "r", "b"), ("a", "r", "b"), ("c", "r", "b")]


def test_blank_lines_and_duplicates_together_point_at_their_own_lines(write):
    path = write("graph.tsv", "\na\tr\tb\n\na\tr\tb\n")
    with pytest.warns(InputWarning) as caught:
        read_graph(path)
    messages = [str(warning.message).split("/")[-1] for warning in caught]
    assert messages == ["graph.tsv:1: 2 blank lines skipped, the first here", "graph.tsv:4: duplicate triple skipped"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("graph.tsv", "a\tr\tb\na\tr\n", r"graph.tsv:2: expected 3 columns separated by '\t', found 2: 'a\tr'"),
        ("graph.tsv", "a\tr\tb\tc\n", r"graph.tsv:1: expected 3 columns separated by '\t', found 4: 'a\tr\tb\tc'"),
        ("graph.csv", 'a,r,"\nb"\n\na,r\n', "graph.csv:4: expected 3 columns separated by ',', found 2: 'a,r'"),
        ("graph.tsv", b"a\tr\tb\na\tr\t\xffz\n", "graph.tsv:2: expected UTF-8, found byte 0xff: 'a\\tr\\t?z'"),
        ("graph.tsv", "a\tr\tb\na\t\tb\n", r"graph.tsv:2: expected a relation, found an empty name: 'a\t\tb'"),
        ("graph.tsv", "a\tr\tb\n \tr\tb\n", r"graph.tsv:2: expected a head, found an empty name: ' \tr\tb'"),
        ("graph.csv", "a,r,b\n,,\n", "graph.csv:2: expected a head, found an empty name: ',,'"),
        ("graph.csv", 'a,r,b\na,r,"b\nc,r,d\n', "graph.csv:2: a quote opens here and never closes: 'a,r,b\\nc,r,d\\n'"),
        ("graph.tsv", "", "graph.tsv: expected triples, found an empty file"),
        ("graph.txt", "\n \n", "graph.txt: expected triples, found an empty file"),
        ("graph.csv", "head,relation,tail\n", "graph.csv: expected triples, found only a header"),
        (
            "graph.txt",
            "justoneword\n",
            "graph.txt:1: expected three columns separated by tabs, commas, semicolons, bars or spaces, "
            "found 'justoneword'",
        ),
    ],
)
def test_what_is_not_a_triple_is_refused_with_its_line(write, name, content, message):
    assert refusal(write(name, content)) == message


def test_long_lines_are_shortened_in_messages(write):
    message = refusal(write("graph.tsv", "x" * 5000 + "\n"))
    assert message.endswith("xxx...'")
    assert len(message) < 150


def test_very_long_names_are_read(write):
    long = "x" * 100_000
    path = write("graph.tsv", "a\tr\tb\n" + "".join(f"{i}{long}\tr\t{i}{long}\n" for i in range(12)))
    assert read_graph(path).num_triples == 13


@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.tsv"])
def test_a_first_line_without_end_is_refused(write, name):
    assert refusal(write(name, "x" * 200_000)).startswith(f"{name}:1: field larger than field limit")


@pytest.mark.parametrize("name", ["graph.tsv.gz", "graph.tsv.zst", "graph.nt.gz"])
def test_broken_archives_are_refused(write, name):
    assert refusal(write(name, b"not packed at all")).startswith(f"{name}: cannot be read: ")


def test_a_cut_archive_is_refused(write):
    packed = gzip.compress("".join(f"entity {i}\tr\tb\n" for i in range(1000)).encode())
    assert refusal(write("graph.tsv.gz", packed[:-20])).startswith("graph.tsv.gz: cannot be read: ")


def test_missing_files_and_directories_without_a_graph_are_refused(tmp_path):
    for odd in ("x" * 5000, "a\0b", "a\tr\tb\n", "\ud800"):
        with pytest.raises(InputError):
            read_graph(odd)
    assert refusal(tmp_path / "none.tsv") == "none.tsv: no such file"
    assert re.search(
        "expected a file, or a directory with a file named path_graph or with Parquet files$", refusal(tmp_path)
    )
