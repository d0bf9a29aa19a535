import os
import subprocess
import sys
import time

import pytest

from bolt_server import Answer, bolt_server
from graph_names import named
from sparql_server import Fault, sparql_server
from tripleshot.cli import importing
from tripleshot.graph.readers import read_graph

TRIPLES = [(f"urn:{i}", f"urn:r{i % 3}", f"urn:{(i * 7 + 3) % 20}") for i in range(20)]
TURTLE = "".join(f"<{head}> <{relation}> <{tail}> .\n" for head, relation, tail in TRIPLES)


@pytest.fixture
def server():
    with sparql_server(TURTLE) as server:
        yield server


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(importing.PASSWORD, raising=False)
    return tmp_path


def test_an_endpoint_becomes_a_file_that_can_be_asked(run, server, tmp_path):
    code, out, _ = run("data", "import", server.url, "graph.parquet")
    assert code == 0
    assert "20 triples) written to graph.parquet" in out
    assert sorted(named(read_graph(tmp_path / "graph.parquet"))) == sorted(TRIPLES)
    assert [path.name for path in tmp_path.iterdir()] == ["graph.parquet"]
    code, out, _ = run("ask", "graph.parquet", "--relation", "urn:r1", "--head", "urn:0")
    assert code == 0
    assert run("data", "import", server.url, "graph.parquet")[2] == (
        "error: graph.parquet: exists already; --overwrite replaces it\n"
    )


def test_an_import_that_was_killed_goes_on_where_it_was(run, server, tmp_path):
    server.faults = {6: Fault(pause=60)}
    words = ["data", "import", server.url, "graph.parquet", "--page-size", "3"]
    process = subprocess.Popen([sys.executable, "-m", "tripleshot", *words], env={**os.environ, "COLUMNS": "200"})
    while len(server.queries) < 7 and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None
    process.kill()
    process.wait()
    asked = set(server.queries[:6])
    server.queries.clear()
    server.faults = {}
    assert "--resume goes on with it, --overwrite starts anew" in run(*words)[2]
    assert run(*words, "--resume")[0] == 0
    assert sorted(named(read_graph(tmp_path / "graph.parquet"))) == sorted(TRIPLES)
    assert len(asked) == 6
    assert not asked & set(server.queries)
    assert [path.name for path in tmp_path.iterdir()] == ["graph.parquet"]
    assert "exists already" in run(*words, "--resume")[2]


def test_a_failure_says_how_to_go_on(run, server):
    server.faults = {2: Fault(404)}
    words = ["data", "import", server.url, "graph.parquet"]
    code, _, complaint = run(*words)
    assert code == 1
    assert "what has come is in graph.parquet.pages: --resume goes on with it" in complaint
    assert run(*words, "--overwrite")[0] == 0


def test_a_login_comes_from_the_environment_or_a_prompt(run, server, monkeypatch):
    server.required = {"Authorization": "Basic YWRhOmh1bnRlcjI="}
    words = ["data", "import", server.url, "graph.parquet", "--overwrite"]
    assert "the password of ada is taken from TRIPLESHOT_PASSWORD" in run(*words, "--user", "ada")[2]
    monkeypatch.setenv("TRIPLESHOT_PASSWORD", "wrong-secret")
    code, out, complaint = run("-vv", *words, "--user", "ada")
    assert code == 1
    assert "401 Unauthorized" in complaint
    assert "wrong-secret" not in out + complaint
    monkeypatch.setenv("TRIPLESHOT_PASSWORD", "hunter2")
    assert run(*words, "--user", "ada")[0] == 0
    monkeypatch.setenv("LOGIN", "Basic YWRhOmh1bnRlcjI=")
    assert run(*words, "--header", "Authorization=LOGIN")[0] == 0
    complaint = run(*words, "--header", "Authorization=Basic YWRhOmh1bnRlcjI=")[2]
    assert "NAME=VARIABLE" in complaint
    assert "YWRh" not in complaint
    monkeypatch.delenv("TRIPLESHOT_PASSWORD")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(importing, "getpass", lambda prompt: "hunter2")
    assert run(*words, "--user", "ada")[0] == 0


def test_a_query_may_be_in_a_file(run, server, tmp_path):
    (tmp_path / "some.rq").write_text("SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(?p = <urn:r1>) }")
    assert run("data", "import", server.url, "graph.parquet", "--query", "some.rq")[0] == 0
    assert {relation for _, relation, _ in named(read_graph(tmp_path / "graph.parquet"))} == {"urn:r1"}


def test_a_graph_database_becomes_a_file_with_types(run, monkeypatch, tmp_path):
    answers = {
        "MATCH (s)-[r]->(o)": Answer(["s", "p", "o"], [["Ada", "KNOWS", "Bob"]]),
        "MATCH (n) RETURN": Answer(["name", "types", "label"], [["Ada", ["Person"], None]]),
    }
    monkeypatch.setenv("TRIPLESHOT_PASSWORD", "secret")
    with bolt_server(answers) as server:
        words = ["data", "import", server.url, "graph.parquet", "--user", "neo4j", "--name-property", "name"]
        assert run(*words)[0] == 0
        assert "--resume: a graph database" in run(*words, "--resume")[2]
    types = read_graph(tmp_path / "graph.parquet").types
    assert types is not None
    assert types.names == ("Person",)


def test_tables_and_files_become_a_file(run, tmp_path):
    (tmp_path / "people.csv").write_text("person,city\nAda,London\n")
    query = "SELECT person, 'lives in', city FROM data"
    assert run("data", "import", "people.csv", "graph.parquet", "--query", query)[0] == 0
    assert named(read_graph(tmp_path / "graph.parquet")) == [("Ada", "lives in", "London")]
    (tmp_path / "graph.nt").write_text("<urn:a> <urn:r> <urn:b> .\n")
    assert run("data", "import", "graph.nt", "other.parquet")[0] == 0
    assert named(read_graph(tmp_path / "other.parquet")) == [("urn:a", "urn:r", "urn:b")]


def test_wikidata_is_asked_by_its_properties(run, monkeypatch):
    asked = []
    monkeypatch.setattr(
        importing, "read_wikidata", lambda *words, **given: asked.append((words, given)) or read_graph(TRIPLES)
    )
    words = ["wikidata:P19,P27", "people.parquet", "--labels", "en", "--contact", "ada@example.org", "--delay", "2"]
    assert run("data", "import", *words)[0] == 0
    ((properties,), given) = asked[0]
    assert properties == ["P19", "P27"]
    assert (given["labels"], given["contact"], given["limits"].delay) == ("en", "ada@example.org", 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["graph.tsv", "out.parquet", "--graph", "urn:g"], "--graph has no meaning for files of triples"),
        (["bolt://localhost", "out.parquet", "--page-size", "5"], "--page-size has no meaning for a graph database"),
        (["https://example.org/sparql", "out.tsv"], "choose a name that ends with .parquet"),
        (["wikidata:P19", "out.parquet", "--query", "SELECT"], "--query has no meaning for Wikidata"),
        (["http://ada:hunter2@localhost/", "out.parquet"], "ends up in logs"),
    ],
)
def test_flags_that_do_not_fit_are_refused(run, words, message):
    code, _, complaint = run("data", "import", *words)
    assert code == 1
    assert message in complaint
    assert "hunter2" not in complaint


def test_a_database_needs_a_query(run, tmp_path):
    (tmp_path / "people.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    assert "Give a query that returns head, relation and tail" in run("data", "import", "people.db", "out.parquet")[2]
