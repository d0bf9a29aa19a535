"""Graphs that live in a graph database: read over Bolt, completed, written back as Cypher, and found there."""

from io import BytesIO

import pytest

from completions import CALIBRATION, MISSING, ROWS, pairs_of
from cypher_engines import ENGINES, HOSTILE
from tripleshot.answering.export import ExportStyle
from tripleshot.answering.export.cypher import NodeStyle, write_cypher
from tripleshot.answering.export.rows import ProposedTriple
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.provenance import Provenance
from tripleshot.graph.readers.neo4j import read_neo4j

PROPOSED = "MATCH (s)-[r:`lives in`]->(o) WHERE r.run IS NOT NULL RETURN s.name, o.name, r.confidence, r.rank, r.run"
ALL = "MATCH (s)-[r]->(o) RETURN s.name, type(r), o.name"


@pytest.fixture(scope="module", params=list(ENGINES))
def running(request, tmp_path_factory):
    pytest.importorskip("neo4j")
    with ENGINES[request.param](tmp_path_factory.mktemp("database")) as database:
        yield database


@pytest.fixture
def database(running):
    running.run("MATCH (n) DETACH DELETE n")
    return running


def fill(database):
    names = sorted({name for head, _, tail in ROWS for name in (head, tail)})
    for kind in ("person", "company", "city"):
        some = [name for name in names if name.startswith(kind)]
        database.run(f"UNWIND $names AS name CREATE (:{kind} {{name: name}})", names=some)
    for relation in ("works at", "located in", "lives in"):
        pairs = [[head, tail] for head, found, tail in ROWS if found == relation]
        database.run(
            "UNWIND $pairs AS pair MATCH (s {name: pair[0]}) MATCH (o {name: pair[1]}) "
            f"CREATE (s)-[:`{relation}`]->(o)",
            pairs=pairs,
        )


def statements_of(path):
    return [statement for statement in path.read_text().split(";\n") if statement]


def test_a_database_has_the_proposals_with_their_provenance_and_its_facts_as_before(tmp_path, database):
    fill(database)
    graph = read_neo4j(database.url, name="name", **database.login)
    assert sorted(graph.triples()) == sorted(ROWS)
    proposals = Predictor(graph, "evidence", calibration=CALIBRATION).complete("lives in", k=1, missing_only=True)
    assert pairs_of(proposals) == MISSING
    proposals.write(tmp_path / "found.cypher", ExportStyle())
    statements = statements_of(tmp_path / "found.cypher")
    database.run(*statements)
    database.run(*statements)  # a file that is run twice proposes nothing twice
    found = database.run(PROPOSED)
    run = str(proposals.provenance.run)
    assert {(head, tail) for head, tail, *_ in found} == MISSING
    assert len(found) == len(MISSING)
    assert all(0.5 <= confidence <= 1 and (rank, of) == (1, run) for *_, confidence, rank, of in found)
    ((method, graph_hash),) = database.run("MATCH (r:TripleshotRun {id: $run}) RETURN r.method, r.graph", run=run)
    assert (method, graph_hash) == ("evidence", proposals.provenance.graph)
    database.run("MATCH ()-[r {run: $run}]->() DELETE r", run=run)
    assert sorted(map(tuple, database.run(ALL))) == sorted(ROWS)


def test_a_fact_of_the_database_stays_as_it_is_and_what_is_not_there_is_not_made(tmp_path, database):
    database.run("CREATE (:place {name: 'Baku'})-[:`lies on` {since: 1}]->(:place {name: 'Caspian Sea'})")
    rows = [ProposedTriple("Baku", "lies on", tail, 0.9, 7.5, 1) for tail in ("Caspian Sea", "Black Sea")]
    write(tmp_path, rows, NodeStyle("place"))
    database.run(*statements_of(tmp_path / "rows.cypher"))
    found = database.run("MATCH (s)-[r]->(o) RETURN s.name, type(r), o.name, r.since, r.confidence, r.run")
    assert found == [["Baku", "lies on", "Caspian Sea", 1, None, None]]
    assert database.run("MATCH (n:place) RETURN count(n)") == [[2]]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name_and_nothing_more(tmp_path, database, name):
    if "\0" in name and database.login["database"] == "neo4j":
        pytest.skip("SQLite ends a text at its first zero")
    database.run("CREATE (:place {name: $name})", "CREATE (:place {name: 'other'})", name=name)
    write(tmp_path, [ProposedTriple(name, "lies on", "other", 0.5)], NodeStyle())
    database.run(*statements_of(tmp_path / "rows.cypher"))
    assert database.run("MATCH (s)-[r]->(o) RETURN s.name, type(r), o.name") == [[name, "lies on", "other"]]


def write(folder, rows, style):
    file = BytesIO()
    write_cypher(rows, file, Provenance("2026-01-02T03:04:05+00:00", "1.2.3", "evidence", "ab", "g", ()), style)
    (folder / "rows.cypher").write_bytes(file.getvalue())
