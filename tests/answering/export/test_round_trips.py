"""Graphs that live in a SPARQL store: read, completed, written back, and found there."""

import pytest

from completions import CALIBRATION, MISSING, ROWS, pairs_of
from oxigraph_server import oxigraph_server
from tripleshot.answering.export import ExportStyle
from tripleshot.answering.export.iri_names import IriNames
from tripleshot.answering.predictor import Predictor
from tripleshot.graph.readers.sparql import read_sparql

NAMES = IriNames("https://example.org/")
STYLE = ExportStyle(NAMES)
EXPECTED = {(NAMES.iri(head).value, NAMES.iri(tail).value) for head, tail in MISSING}
RELATION = NAMES.iri("lives in").value
PREFIXES = """PREFIX ts: <urn:tripleshot:> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
PROVENANCE = """?activity a prov:Activity; ts:method ?method; prov:used ?graph; prov:wasAssociatedWith ?program.
    ?program a prov:SoftwareAgent. ?graph ts:sha256 ?hash"""
STATED = f"""{PREFIXES} SELECT ?head ?tail ?confidence ?method ?hash {{
  GRAPH ?proposals {{ ?head <{RELATION}> ?tail }}
  GRAPH ?about {{
    ?statement rdf:subject ?head; rdf:predicate <{RELATION}>; rdf:object ?tail;
      ts:confidence ?confidence; prov:wasGeneratedBy ?activity.
    {PROVENANCE} }}
}}"""
REIFIED = f"""{PREFIXES} SELECT ?head ?tail ?confidence ?method ?hash {{
  ?statement rdf:reifies <<( ?head <{RELATION}> ?tail )>>;
    ts:confidence ?confidence; prov:wasGeneratedBy ?activity.
  {PROVENANCE}
}}"""


@pytest.fixture
def store(tmp_path):
    (tmp_path / "facts.ttl").write_text(
        "".join(f"{' '.join(str(NAMES.iri(name)) for name in row)} .\n" for row in ROWS)
    )
    with oxigraph_server() as store:
        store.upload(tmp_path / "facts.ttl")
        yield store


def complete(graph):
    predictor = Predictor(graph, "evidence", calibration=CALIBRATION)
    return predictor.complete(RELATION, k=1, missing_only=True)


@pytest.mark.parametrize(("suffix", "query"), [(".trig", STATED), (".nq", STATED), (".ttl", REIFIED), (".nt", REIFIED)])
def test_a_store_has_the_proposals_with_their_provenance(tmp_path, store, suffix, query):
    graph = read_sparql(store.url)
    proposals = complete(graph)
    assert pairs_of(proposals) == EXPECTED
    proposals.write(tmp_path / f"found{suffix}", STYLE)
    store.upload(tmp_path / f"found{suffix}")
    rows = store.select(query)
    assert {(row["head"], row["tail"]) for row in rows} == EXPECTED
    assert {row["method"] for row in rows} == {"evidence"}
    assert {row["hash"] for row in rows} == {proposals.provenance.graph}
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)


def test_the_proposals_are_a_graph_of_their_own_that_is_read_apart_from_the_facts(tmp_path, store):
    graph = read_sparql(store.url)
    proposals = complete(graph)
    proposals.write(tmp_path / "found.trig", STYLE)
    store.upload(tmp_path / "found.trig")
    assert set(read_sparql(store.url).triples()) == set(graph.triples())
    proposed = read_sparql(store.url, graph=f"urn:uuid:{proposals.provenance.run}")
    assert {(head, tail) for head, _, tail in proposed.triples()} == EXPECTED


def test_a_store_drops_the_two_graphs_and_is_as_before(tmp_path, store):
    everything = "SELECT ?g ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    before = store.select(everything)
    proposals = complete(read_sparql(store.url))
    proposals.write(tmp_path / "found.nq", STYLE)
    store.upload(tmp_path / "found.nq")
    assert len(store.select(everything)) > len(before)
    for suffix in ("", "#provenance"):
        store.update(f"DROP GRAPH <urn:uuid:{proposals.provenance.run}{suffix}>")
    assert sorted(map(repr, store.select(everything))) == sorted(map(repr, before))
