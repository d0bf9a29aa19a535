import pytest

from graph_names import named
from sparql_server import Fault, sparql_server
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers.sparql_client import RequestLimits
from tripleshot.graph.readers.wikidata import read_wikidata

QUICK = RequestLimits(wait=0)
STATEMENTS = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:Q42 wdt:P19 wd:Q350 ; wdt:P31 wd:Q5 ; rdfs:label "Douglas Adams"@en, "Adams"@de .
wd:Q7 wdt:P19 wd:Q350 ; wdt:P27 wd:Q145 .
wd:Q8 wdt:P19 [] .
wd:Q9 wdt:P19 "Q3" .
wd:Q350 rdfs:label "Cambridge"@en .
wd:P19 rdfs:label "place of birth"@en .
"""


@pytest.fixture
def server():
    with sparql_server(STATEMENTS) as server:
        yield server


def test_properties_are_relations_between_items_with_labels(server, tmp_path):
    options = {"url": server.url, "labels": "en", "pages": tmp_path / "pages", "contact": "ada@example.org"}
    server.faults = {1: Fault(429, {"Retry-After": "0"})}
    with pytest.warns(InputWarning, match="2 statements skipped whose value is no item"):
        graph = read_wikidata(["P19", "P27", "P19"], limits=QUICK, **options)
    assert named(graph) == [("Q42", "P19", "Q350"), ("Q7", "P19", "Q350"), ("Q7", "P27", "Q145")]
    labels = [graph.entities.label(graph.entities.id(name)) for name in ("Q42", "Q350", "Q7")]
    assert labels == ["Douglas Adams", "Cambridge", "Q7"]
    assert graph.relations.label(graph.relations.id("P19")) == "place of birth"
    assert server.headers[0]["user-agent"].endswith("(ada@example.org)")
    num_queries = len(server.queries)
    with pytest.warns(InputWarning, match="2 statements skipped"):
        assert named(read_wikidata(["P19", "P27"], limits=QUICK, **options)) == named(graph)
    assert len(server.queries) == num_queries


def test_a_pattern_limits_what_is_read(server):
    graph = read_wikidata(["P19"], where="?s wdt:P31 wd:Q5", url=server.url, limits=QUICK)
    assert named(graph) == [("Q42", "P19", "Q350")]


def test_the_server_is_left_alone_between_requests(server, monkeypatch):
    waits = []
    monkeypatch.setattr("tripleshot.graph.readers.sparql.time.sleep", waits.append)
    read_wikidata(["P27"], url=server.url, labels="de")
    assert waits == [1.0] * (len(server.queries) - 1)


@pytest.mark.parametrize("properties", [[], ["P0"], ["Q42"], ["P19 } INSERT"], [""]])
def test_what_is_no_property_is_refused(properties):
    with pytest.raises(InputError, match="expected properties such as P19"):
        read_wikidata(properties)


def test_what_is_no_language_is_refused():
    with pytest.raises(InputError, match="expected a language such as 'en'"):
        read_wikidata(["P19"], labels='en")')
