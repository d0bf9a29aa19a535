import gzip

import pytest

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph

TURTLE = """@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:ada a :Person ; :knows :charles, _:friend ;
    rdfs:label "Ada (fr)"@fr, "Ada"@en-GB, "Ada, later" .
:charles skos:prefLabel "Karl"@de .
:knows rdfs:label "knows" .
"""
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


class Literal(str):
    """rdflib's literals are strings with a datatype and a language."""

    datatype = None
    language = None


class Graph(list):
    """What the reader uses of rdflib's Graph: it is iterable and has a namespace manager."""

    namespace_manager = None


@pytest.mark.parametrize("name", ["graph.ttl", "graph.ttl.gz"])
def test_turtle_gives_names_types_and_labels(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TURTLE.encode()) if name.endswith("gz") else TURTLE.encode())
    graph = read_graph(path)
    assert named(graph) == [
        ("http://e/ada", TYPE, "http://e/Person"),
        ("http://e/ada", "http://e/knows", "http://e/charles"),
        ("http://e/ada", "http://e/knows", "_:friend"),
    ]
    labels = {graph.entities.name(i): graph.entities.label(i) for i in range(graph.num_entities)}
    assert labels["http://e/ada"] == "Ada"
    assert labels["http://e/charles"] == "Karl"
    assert labels["_:friend"] == "_:friend"
    assert graph.relations.label(graph.relations.id("http://e/knows")) == "knows"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("graph.nt", "<http://e/a> <http://e/r> <http://e/b> .\n"),
        ("graph.nq", "<http://e/a> <http://e/r> <http://e/b> <http://e/g> .\n"),
        ("graph.trig", "<http://e/g> { <http://e/a> <http://e/r> <http://e/b> . }"),
        ("graph.jsonld", '{"@id": "http://e/a", "http://e/r": {"@id": "http://e/b"}}'),
        (
            "graph.rdf",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
            '<rdf:Description rdf:about="http://e/a"><e:r rdf:resource="http://e/b"/></rdf:Description></rdf:RDF>',
        ),
    ],
)
def test_every_rdf_format_is_read(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    assert named(read_graph(path)) == [("http://e/a", "http://e/r", "http://e/b")]


def test_literals_are_skipped_with_one_warning_or_kept(tmp_path):
    path = tmp_path / "graph.nt"
    path.write_text('<e:a> <e:r> <e:b> .\n<e:a> <e:age> "36" .\n<e:a> <e:name> "Ada" .\n<e:a> <e:note> "" .\n')
    with pytest.warns(InputWarning, match=r"graph\.nt: 3 literals skipped, the first in e:a e:age '36'") as caught:
        assert named(read_graph(path)) == [("e:a", "e:r", "e:b")]
    assert len(caught) == 1
    with pytest.warns(InputWarning, match=r"graph\.nt: 1 literal skipped, the first in e:a e:note ''"):
        kept = read_graph(path, literals="keep")
    assert named(kept) == [("e:a", "e:r", "e:b"), ("e:a", "e:age", "36"), ("e:a", "e:name", "Ada")]
    with pytest.raises(InputError, match="literals: expected 'skip' or 'keep', found 'drop'"):
        read_graph(path, literals="drop")  # type: ignore[bad-argument-type]


def test_a_syntax_error_is_refused_with_its_line(tmp_path):
    for name, content, line in [
        ("graph.nt", "<e:a> <e:r> <e:b> .\n<e:a> <e:r> .\n", 2),
        ("graph.ttl", "@prefix : <http://e/> .\n\n:a :b\n", 4),
        ("graph.jsonld", "{", 1),
    ]:
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(InputError) as caught:
            read_graph(path)
        assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_triple_within_a_triple_is_refused(tmp_path):
    path = tmp_path / "graph.nt"
    path.write_text("<e:a> <e:r> <<( <e:a> <e:r> <e:b> )>> .\n")
    with pytest.raises(InputError, match="a triple within a triple"):
        read_graph(path)


def test_files_without_triples_are_refused(tmp_path):
    path = tmp_path / "graph.nt"
    path.write_text('<e:a> <e:age> "36" .\n')
    with pytest.raises(InputError, match=r"graph\.nt: expected triples, found none"):
        read_graph(path)
    with pytest.raises(InputError, match="no such file"):
        read_graph(tmp_path / "none.ttl")


def test_duplicates_in_rdf_are_counted(tmp_path):
    path = tmp_path / "graph.nt"
    path.write_text("<e:a> <e:r> <e:b> .\n" * 3)
    with pytest.warns(InputWarning, match=r"graph\.nt: triple 2: 2 duplicate triples skipped, the first here"):
        assert read_graph(path).num_triples == 1


def test_an_rdflib_graph_is_read_by_its_terms():
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    graph = Graph([("e:a", "e:r", "e:b"), ("e:a", label, Literal("A")), ("e:a", "e:age", Literal("36"))])
    with pytest.warns(InputWarning, match="Graph: 1 literal skipped"):
        read = read_graph(graph)
    assert named(read) == [("e:a", "e:r", "e:b")]
    assert read.entities.label(0) == "A"
    assert named(read_graph(graph, literals="keep")) == [("e:a", "e:r", "e:b"), ("e:a", "e:age", "36")]
