import logging
import sys
from typing import Any

import numpy as np
import pytest

from bolt_server import Answer, bolt_server
from graph_names import named
from packstream import node, relationship
from tripleshot.errors import FetchError, InputError, InputWarning
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.neo4j import read_neo4j

ROWS = [["Ada", "KNOWS", "Bob"], ["Ada", "LIVES_IN", "node:3"], ["Bob", "LIVES_IN", "node:3"]]
TRIPLES = [tuple(row) for row in ROWS]
NODES = [["Ada", ["Person", "Writer"], None], ["node:3", ["City"], "London"], ["Lonely", ["Person"], None]]
LOGIN = {"user": "neo4j", "password": "secret"}


@pytest.fixture
def server():
    answers = {
        "MATCH (s)-[r]->(o)": Answer(["s", "p", "o"], ROWS),
        "MATCH (n) RETURN": Answer(["name", "types", "label"], NODES),
        "MATCH (n) WHERE": Answer(["name", "nodes"], []),
    }
    with bolt_server(answers) as server:
        yield server


def error_of(server, *arguments, kind=InputError, **options):
    given: dict[str, Any] = {**LOGIN, "wait": 0, **options}
    with pytest.raises(kind) as caught:
        read_neo4j(server if isinstance(server, str) else server.url, *arguments, **given)
    assert "secret" not in str(caught.value)
    return str(caught.value)


def types_of(graph, name):
    kinds = graph.types.of(np.array([graph.entities.id(name)]))
    return {graph.types.names[kind] for kind in kinds}


def test_all_relationships_are_read_in_batches_with_types_and_labels(server):
    graph = read_neo4j(server.url, name="name", label="title", batch_size=2, database="people", **LOGIN)
    assert named(graph) == TRIPLES
    assert types_of(graph, "Ada") == {"Person", "Writer"}
    assert types_of(graph, "Bob") == set()
    assert graph.entities.label(graph.entities.id("node:3")) == "London"
    assert set(server.pulls) == {2}
    assert {(about["mode"], about["db"]) for about in server.begun} == {("r", "people")}
    assert server.queries[0][1] == {"name": "name", "label": "title"}
    assert "title" not in server.queries[0][0]  # names of properties are no part of a query


def test_nodes_have_their_element_ids_as_names_unless_a_property_is_given(server):
    read_neo4j(server.url, types=False, **LOGIN)
    (query, parameters), *more = server.queries
    assert "elementId(s) AS s" in query
    assert "coalesce" not in query
    assert (parameters, more) == ({}, [])


def test_an_address_is_read_like_a_path():
    answers = {"MATCH (s)-[r]->(o)": Answer(["s", "p", "o"], ROWS)}
    with bolt_server(answers, user="", password="") as server:
        assert named(read_graph(server.url)) == TRIPLES


def test_a_query_may_return_nodes_and_relationships(server):
    ada, bob = node(1, ["Person"], {"name": "Ada", "title": "Countess"}), node(2, ["Person", "Cook"], {})
    server.answers["RETURN a, r, b"] = Answer(["a", "r", "b"], [[ada, relationship(9, 1, 2, "KNOWS"), bob]])
    query = "MATCH (a)-[r]->(b) WHERE a.age > $age RETURN a, r, b"
    graph = read_neo4j(server.url, query, name="name", label="title", parameters={"age": 30}, **LOGIN)
    assert named(graph) == [("Ada", "KNOWS", "node:2")]
    assert types_of(graph, "node:2") == {"Person", "Cook"}
    assert graph.entities.label(graph.entities.id("Ada")) == "Countess"
    assert server.queries == [(query, {"age": 30})]


def test_columns_of_a_query_are_found_by_name(server):
    server.answers["RETURN x"] = Answer(["score", "t", "h", "r"], [[1.5, 7, "a", "r"]])
    assert named(read_neo4j(server.url, "RETURN x", **LOGIN)) == [("a", "r", "7")]
    server.answers["RETURN y"] = Answer(["a", "b", "c", "d"], [[1, "a", "r", 7]])
    assert "name them with columns=(head, relation, tail)" in error_of(server, "RETURN y")
    assert named(read_neo4j(server.url, "RETURN y", columns=("b", "c", "d"), **LOGIN)) == [("a", "r", "7")]


@pytest.mark.parametrize("value", [None, 1.5, True, [1], {"a": 1}])
def test_what_is_no_name_is_refused_with_its_row(server, value):
    server.answers["RETURN x"] = Answer(["s", "p", "o"], [["a", "r", "b"], ["a", "r", value]])
    assert "row 2: expected a name" in error_of(server, "RETURN x")


def test_a_connection_that_is_lost_in_the_middle_is_read_again(server, caplog):
    server.answers["MATCH (s)-[r]->(o)"].cuts = [2, None]
    with caplog.at_level(logging.CRITICAL, "neo4j"):
        assert named(read_neo4j(server.url, types=False, wait=0, batch_size=1, **LOGIN)) == TRIPLES
        server.answers["MATCH (s)-[r]->(o)"].cuts = [2] * 10
        assert "bolt://127.0.0.1" in error_of(server, kind=FetchError, attempts=2)


def test_names_that_several_nodes_have_are_warned_of(server):
    server.answers["MATCH (n) WHERE"] = Answer(["name", "nodes"], [["Paris", 3]])
    with pytest.warns(InputWarning, match="name is the name of several nodes.*3 are called 'Paris'"):
        read_neo4j(server.url, name="name", types=False, **LOGIN)


def test_reading_stops_where_it_was_told_to(server):
    with pytest.warns(InputWarning, match="stopped at 2 triples"):
        assert read_neo4j(server.url, max_triples=2, types=False, **LOGIN).num_triples == 2


def test_hostile_names_are_names(server):
    names = ['"', "\x1b[31m", "a\nb", "') DETACH DELETE n //", "é𝄞"]
    server.answers["MATCH (s)-[r]->(o)"] = Answer(["s", "p", "o"], [[name, name, name] for name in names])
    assert named(read_neo4j(server.url, types=False, **LOGIN)) == [(name,) * 3 for name in names]


def test_wrong_logins_queries_and_addresses_are_named(server):
    assert "the user or the password is wrong" in error_of(server, password="no")
    server.answers["MATCH ("] = Answer(code="Neo.ClientError.Statement.SyntaxError", message="unexpected end")
    assert error_of(server, "MATCH (").endswith(": unexpected end")
    assert "end up in logs" in error_of("bolt://ada:secret@localhost").replace("ends", "end")
    assert "expected an address such as bolt" in error_of("http://localhost:7687")
    server.answers["RETURN none"] = Answer(["s", "p", "o"])
    assert "expected triples, found none" in error_of(server, "RETURN none")


def test_a_missing_driver_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "neo4j", None)
    assert error_of("bolt://127.0.0.1:9") == (
        "bolt://127.0.0.1:9: Neo4j needs its driver: pip install 'tripleshot[neo4j]'"
    )
