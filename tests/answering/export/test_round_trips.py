"""Graphs that live elsewhere: read, completed, written back, and found there."""

import urllib.parse
import urllib.request

import pyoxigraph as ox
import pytest

from bolt_server import Answer, bolt_server
from completions import CALIBRATION, MISSING, ROWS, pairs_of
from packstream import node
from sparql_server import sparql_server
from tripleshot.answering.export import ExportStyle
from tripleshot.answering.export.cypher import NodeStyle
from tripleshot.answering.export.iri_names import IriNames
from tripleshot.answering.predictor import Predictor
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.neo4j import read_neo4j
from tripleshot.graph.readers.sparql import read_sparql

NAMES = IriNames("https://example.org/")
STYLE = ExportStyle(NAMES)
EXPECTED = {(NAMES.iri(head).value, NAMES.iri(tail).value) for head, tail in MISSING}
RELATION = NAMES.iri("lives in").value
FOUND = """PREFIX ts: <urn:tripleshot:> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
SELECT ?head ?tail ?confidence ?method {
  GRAPH ?proposals { ?head <https://example.org/lives%20in> ?tail }
  GRAPH ?about {
    ?statement rdf:subject ?head; rdf:object ?tail; ts:confidence ?confidence; prov:wasGeneratedBy ?run.
    ?run ts:method ?method }
}"""


def turtle():
    return "".join(f"{' '.join(str(NAMES.iri(name)) for name in row)} .\n" for row in ROWS)


def complete(graph, relation=RELATION):
    predictor = Predictor(graph, "evidence", calibration=CALIBRATION)
    return predictor.complete(relation, k=1, missing_only=True)


def post(url, update):
    data = urllib.parse.urlencode({"update": update}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:  # on this machine
        assert answer.status == 200


def insertion(path):
    """Write the quads of a file as an update, as a store without uploads wants them."""
    quads = ox.parse(path=path)
    lines = [f"GRAPH {quad.graph_name} {{ {quad.subject} {quad.predicate} {quad.object} }}" for quad in quads]
    return f"INSERT DATA {{ {' '.join(lines)} }}"


@pytest.mark.parametrize("suffix", [".trig", ".nq"])
def test_a_sparql_store_has_the_proposals_with_their_provenance_and_its_facts_as_before(tmp_path, suffix):
    with sparql_server(turtle()) as server:
        graph = read_sparql(server.url)
        proposals = complete(graph)
        assert pairs_of(proposals) == EXPECTED
        proposals.write(tmp_path / f"found{suffix}", STYLE)
        post(server.update_url, insertion(tmp_path / f"found{suffix}"))
        found = server.store.query(FOUND)
        assert isinstance(found, ox.QuerySolutions)
        rows = list(found)
        assert {(row["head"].value, row["tail"].value) for row in rows} == pairs_of(proposals)
        assert {row["method"].value for row in rows} == {"evidence"}
        assert all(0.5 <= float(row["confidence"].value) <= 1 for row in rows)
        assert set(read_sparql(server.url).triples()) == set(graph.triples())
        proposed = read_sparql(server.url, graph=f"urn:uuid:{proposals.provenance.run}")
        assert {(head, tail) for head, _, tail in proposed.triples()} == pairs_of(proposals)


def test_a_store_drops_the_two_graphs_and_is_as_before(tmp_path):
    store = ox.Store()
    store.load(turtle().encode(), ox.RdfFormat.TURTLE)
    before = set(store)
    (tmp_path / "graph.ttl").write_text(turtle())
    proposals = complete(read_graph(tmp_path / "graph.ttl"))
    proposals.write(tmp_path / "found.nq", STYLE)
    store.load(path=str(tmp_path / "found.nq"))
    assert set(store) > before
    for suffix in ("", "#provenance"):
        store.update(f"DROP GRAPH <urn:uuid:{proposals.provenance.run}{suffix}>")
    assert set(store) == before


def test_neo4j_is_sent_statements_that_merge_the_proposals(tmp_path):
    names = list(dict.fromkeys(name for head, _, tail in ROWS for name in (head, tail)))
    nodes = {name: node(number, [name.split()[0]], {"name": name}) for number, name in enumerate(names)}
    answers = {
        "MATCH (s)-[r]->(o)": Answer(["s", "p", "o"], ROWS),
        "MATCH (n) RETURN": Answer(["name", "types", "label"], [[name, [name.split()[0]], None] for name in nodes]),
    }
    neo4j = pytest.importorskip("neo4j")
    with bolt_server(answers) as server:
        login = {"user": "neo4j", "password": "secret"}
        proposals = complete(read_neo4j(server.url, name="name", **login), "lives in")
        assert pairs_of(proposals) == MISSING
        proposals.write(tmp_path / "found.cypher", ExportStyle(nodes=NodeStyle("person")))
        statements = (tmp_path / "found.cypher").read_text().split(";\n")
        before = len(server.queries)
        with neo4j.GraphDatabase.driver(server.url, auth=("neo4j", "secret")) as driver, driver.session() as session:
            for statement in filter(None, statements):
                session.run(statement).consume()
        about, merging = (text for text, _ in server.queries[before:])
        assert f"'{proposals.provenance.run}'" in about
        assert "MERGE (head)-[proposed:`lives in`]->(tail)" in merging
        assert all(f"{{head: '{head}', tail: '{tail}', confidence: 0." in merging for head, tail in MISSING)
