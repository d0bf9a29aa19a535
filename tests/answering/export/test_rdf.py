from io import BytesIO

import pyoxigraph as ox
import pytest

from tripleshot.answering.export.iri_names import IriNames
from tripleshot.answering.export.rdf import FORMATS, write_rdf
from tripleshot.answering.export.rows import ProposedTriple
from tripleshot.answering.provenance import Provenance, RelationOrigin

HOSTILE = 'a> <urn:x> . "}\n\t\\u003e `'
ROWS = [
    ProposedTriple("Baku", "lies on", "Caspian Sea", 0.9, 7.5, 1),
    ProposedTriple(HOSTILE, "lies on", "Black Sea", 0.5, 2.0, 2, "accepted"),
]
PROVENANCE = Provenance(
    "2026-01-02T03:04:05+00:00",
    "1.2.3",
    "universal",
    "ab12",
    "seas",
    (RelationOrigin("lies on", (("Odesa", "Black Sea"),)),),
)
NAMES = IriNames("https://example.org/")
PREFIXES = """
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX ts: <urn:tripleshot:> PREFIX ex: <https://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""


def load(suffix):
    file = BytesIO()
    write_rdf(iter(ROWS), file, FORMATS[suffix], PROVENANCE, NAMES)
    store = ox.Store()
    store.load(file.getvalue(), format=FORMATS[suffix])
    return store


def ask(store, query):
    found = store.query(PREFIXES + query, use_default_graph_as_union=True)
    return [tuple(value.value for value in row) for row in found]


@pytest.mark.parametrize("suffix", [".trig", ".nq"])
def test_triples_stand_in_a_graph_of_their_own_and_their_confidence_in_another(suffix):
    store = load(suffix)
    graph, beside = f"urn:uuid:{PROVENANCE.run}", f"urn:uuid:{PROVENANCE.run}#provenance"
    assert {found.value for found in store.named_graphs()} == {graph, beside}
    stated = ask(store, f"SELECT ?head ?tail {{ GRAPH <{graph}> {{ ?head ?relation ?tail }} }}")
    found = {(NAMES.name(head), NAMES.name(tail)) for head, tail in stated}
    assert found == {("Baku", "Caspian Sea"), (HOSTILE, "Black Sea")}
    query = """SELECT ?object ?confidence ?rank {
        ?node rdf:subject ex:Baku; rdf:predicate <https://example.org/lies%20on>; rdf:object ?object;
            ts:confidence ?confidence; ts:rank ?rank }"""
    assert ask(store, query) == [("https://example.org/Caspian%20Sea", "0.9", "1")]
    assert not list(store.quads_for_pattern(None, None, None, ox.DefaultGraph()))


@pytest.mark.parametrize("suffix", [".ttl", ".nt"])
def test_turtle_states_no_proposal_but_reifies_it(suffix):
    store = load(suffix)
    assert ask(store, "SELECT ?o { ex:Baku <https://example.org/lies%20on> ?o }") == []
    query = "SELECT ?c { ?node rdf:reifies <<( ex:Baku <https://example.org/lies%20on> ?o )>>; ts:confidence ?c }"
    assert ask(store, query) == [("0.9",)]
    decided = "SELECT ?s { ?node rdf:reifies <<( ?s ?p ?o )>>; ts:decision 'accepted' }"
    assert [NAMES.name(found) for (found,) in ask(store, decided)] == [HOSTILE]


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_provenance_names_the_program_the_method_the_time_the_graph_and_the_examples(suffix):
    store = load(suffix)
    query = """SELECT ?agent ?method ?time ?hash {
        ?node ts:confidence 0.9e0; prov:wasGeneratedBy ?run. ?run prov:wasAssociatedWith/rdfs:label ?agent;
            ts:method ?method; prov:endedAtTime ?time; prov:used/ts:sha256 ?hash }"""
    assert ask(store, query) == [("tripleshot 1.2.3", "universal", "2026-01-02T03:04:05Z", "ab12")]
    reified = "?example rdf:reifies <<( ?head ?relation ?tail )>>"
    described = "?example rdf:subject ?head; rdf:object ?tail"
    example = reified if suffix in (".ttl", ".nt") else described
    examples = ask(store, f"SELECT ?head ?tail {{ ?run prov:used ?example . {example} }}")
    assert examples == [("https://example.org/Odesa", "https://example.org/Black%20Sea")]


def test_what_is_not_known_is_not_said():
    file = BytesIO()
    write_rdf([ProposedTriple("a", "r", "b")], file, FORMATS[".nq"], Provenance(), NAMES)
    assert b"method" not in file.getvalue()
    assert b"confidence" not in file.getvalue()
