import pytest

from tripleshot.errors import InputError
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.places import kind_of_place, wikidata_properties


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("https://example.org/sparql", "sparql"),
        ("HTTP://example.org/query?format=a.csv", "sparql"),
        ("bolt://localhost:7687", "neo4j"),
        ("neo4j+s://example.org", "neo4j"),
        ("wikidata:P19", "wikidata"),
        ("graph.tsv", "path"),
        ("C:/graph.tsv", "path"),
        ("ftp://example.org/graph.tsv", "path"),
    ],
)
def test_a_source_tells_what_it_is(source, kind):
    assert kind_of_place(source) == kind


def test_properties_are_separated_by_commas_or_spaces():
    assert wikidata_properties("wikidata: P19 P27,P31,") == ["P19", "P27", "P31"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("https://example.org/data/graph.ttl.gz", "looks like a file on the web"),
        ("http://[broken/", "no host, or a broken port"),
        ("https://", "no host, or a broken port"),
        ("bolt://host:99999999", "no host, or a broken port"),
        ("wikidata:", "expected properties such as P19"),
    ],
)
def test_addresses_that_lead_nowhere_are_refused(source, message):
    with pytest.raises(InputError, match=message):
        read_graph(source)
