import json

import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from completions import MISSING, ROWS
from tripleshot.answering.manifest import MANIFEST


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    return path


PLAIN = ("--method", "evidence", "--top", 1, "--missing-only")


def test_proposals_are_printed(run, graph):
    code, out, err = run("complete", graph, "--relation", "lives in", *PLAIN)
    assert (code, err) == (0, "")
    assert "person 20" in out
    assert "lives in: 10 examples, 8 heads asked about" in out


def test_the_most_confident_are_printed_with_their_confidence(run, graph):
    words = ("--relation", "lives in", "--top", 1, "--most", 3, "--min-confidence", 0)
    code, out, err = run("complete", graph, *words)
    assert (code, err) == (0, "")
    assert out.count("%") == 3


def test_a_limit_on_heads_is_said(run, graph):
    _, out, _ = run("complete", graph, "--relation", "lives in", *PLAIN, "--max-heads", 5)
    assert "5 heads asked about of 8 alike; --max-heads asks about more" in out


@pytest.mark.parametrize("suffix", [".parquet", ".trig", ".cypher"])
def test_proposals_are_written_to_a_file(run, graph, tmp_path, suffix):
    out = tmp_path / f"found{suffix}"
    code, said, err = run("complete", graph, "--relation", "lives in", *PLAIN, "--out", out)
    assert (code, err) == (0, "")
    assert f"the proposals are in {out}" in said
    if suffix == ".parquet":
        table = pq.read_table(out)
        assert set(zip(table["head"].to_pylist(), table["tail"].to_pylist(), strict=True)) == MISSING


def test_a_new_relation_is_completed_by_examples_for_given_heads(run, graph, tmp_path):
    (tmp_path / "heads.txt").write_text("person 20\nperson 21\n")
    flags = [word for i in range(4) for word in ("--example", f"person {i} | city {i % 4}")]
    words = ("--relation", "votes in", *flags, "--heads", tmp_path / "heads.txt", "--method", "evidence", "--top", 1)
    code, _, err = run("complete", graph, *words, "--out", tmp_path / "found.jsonl")
    assert (code, err) == (0, "")
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert [(row["head"], row["relation"], row["tail"]) for row in rows] == [
        ("person 20", "votes in", "city 0"),
        ("person 21", "votes in", "city 1"),
    ]


def test_a_folder_is_filled_and_exported(run, graph, tmp_path):
    folder = tmp_path / "found"
    code, _, err = run("complete", graph, "--all-relations", *PLAIN[:4], "--out", f"{folder}/", "--partition-size", 10)
    assert (code, err) == (0, "")
    assert (folder / MANIFEST).is_file()
    assert run("export", folder, tmp_path / "found.nq", "--base", "https://example.org/")[0] == 0
    store = ox.Store()
    store.load(path=str(tmp_path / "found.nq"))
    asked = "ASK { GRAPH ?g { <https://example.org/person%2020> <https://example.org/lives%20in> ?city } }"
    assert bool(store.query(asked))
    code, _, err = run("complete", graph, "--all-relations", "--most", 3, "--out", f"{folder}/")
    assert code == 1
    assert "take them with `tripleshot export`" in err


def test_accepted_decisions_are_exported(run, tmp_path):
    path = tmp_path / "decisions.tsv"
    path.write_text("head\trelation\ttail\tdecision\na\tr\tb\taccepted\na\tr\tc\trejected\n")
    out = tmp_path / "accepted.cypher"
    code, _, err = run("export", path, out, "--node-label", "Place", "--node-key", "title")
    assert (code, err) == (0, "")
    text = out.read_text()
    assert "{head: 'a', tail: 'b', decision: 'accepted'}" in text
    assert "'c'" not in text
    assert "MATCH (head:`Place` {`title`: row.head})" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say which relations to complete: --relation NAME"),
        (("--relation", "lives in", "--all-relations"), "say which relations to complete"),
        (("--relation", "lives on"), "the graph has no relation 'lives on'"),
        (("--relation", "lives in", "--out", "found.docx"), "found.docx: what is written goes by the ending"),
        (("--relation", "lives in", "--base", "nowhere"), "base: expected the beginning of an IRI"),
        (("--relation", "lives in", "--workers", 2), "several processes write to a folder"),
    ],
)
def test_a_mistake_is_one_line(run, graph, words, message):
    code, _, err = run("complete", graph, "--method", "evidence", *words)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_answers_are_written_as_triples_with_provenance(run, graph, tmp_path):
    words = ("--relation", "lives in", "--head", "person 20", "--top", 2, "--method", "evidence")
    code, _, err = run("ask", graph, *words, "--out", tmp_path / "answers.nq", "--base", "https://example.org/")
    assert (code, err) == (0, "")
    store = ox.Store()
    store.load(path=str(tmp_path / "answers.nq"))
    asked = "SELECT ?city { GRAPH ?g { <https://example.org/person%2020> <https://example.org/lives%20in> ?city } }"
    found = store.query(asked)
    assert isinstance(found, ox.QuerySolutions)
    assert "https://example.org/city%200" in [row["city"].value for row in found]
    flags = ("--example", "person 1 | city 1", "--head", "person 20", "--method", "evidence")
    code, _, err = run("ask", graph, *flags, "--out", tmp_path / "answers.ttl")
    assert code == 1
    assert "triples need a relation: say what it is called" in err
