import json
from typing import Any

import pytest

from graph_names import named
from sparql_server import JSON, Fault, sparql_server
from tripleshot.errors import FetchError, InputError, InputWarning
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.sparql import read_sparql
from tripleshot.graph.readers.sparql_client import RequestLimits

QUICK = RequestLimits(wait=0)
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TRIPLES = [(f"urn:{i}", f"urn:r{i % 3}", f"urn:{(i * 7 + 3) % 12}") for i in range(12)]
TRIPLES += [("urn:hub", "urn:r1", f"urn:leaf{i}") for i in range(7)]
LABELS = {f"urn:{i}": f"number {i}" for i in range(12)}
TURTLE = "".join(f"<{head}> <{relation}> <{tail}> .\n" for head, relation, tail in TRIPLES)
TURTLE += "".join(f'<{name}> <{LABEL}> "{label}"@en .\n' for name, label in LABELS.items())
ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"


@pytest.fixture
def server():
    with sparql_server(TURTLE) as server:
        yield server


def rows(*triples):
    """An answer with these triples; a name that starts with a quote is a literal, one with a question mark unbound."""

    def term(name):
        return {"type": "literal", "value": name[1:]} if name.startswith('"') else {"type": "uri", "value": name}

    bindings = [{key: term(name) for key, name in zip("spo", triple, strict=True) if name != "?"} for triple in triples]
    return json.dumps({"head": {"vars": ["s", "p", "o"]}, "results": {"bindings": bindings}}).encode()


def error_of(url, query=None, kind=FetchError, **options):
    given: dict[str, Any] = {"limits": QUICK, **options}
    with pytest.raises(kind) as caught:
        read_sparql(url, query, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("query", "page_size", "is_sorted"),
    [
        (None, 1, True),
        (ALL, 1, True),
        (f"# all\nPREFIX r: <urn:r>\n{ALL} # of it", 5, True),
        (None, 4, False),
        (ALL, 4, False),
        (None, 5000, True),
        (ALL, 5000, True),
    ],
)
def test_pages_of_any_size_make_the_same_graph(server, query, page_size, is_sorted):
    graph = read_sparql(server.url, query, page_size=page_size, is_sorted=is_sorted, limits=QUICK)
    assert sorted(named(graph)) == sorted(TRIPLES)
    assert {name: graph.entities.label(graph.entities.id(name)) for name in LABELS} == LABELS


def test_a_server_that_stops_at_a_number_of_rows_loses_nothing(server):
    server.max_rows = 4
    for query in (None, ALL):
        assert sorted(named(read_sparql(server.url, query, limits=QUICK))) == sorted(TRIPLES)


def test_an_address_is_read_like_a_path(server):
    assert sorted(named(read_graph(server.url))) == sorted(TRIPLES)


def test_a_named_graph_and_a_construct_are_read():
    with sparql_server("<urn:a> <urn:r> <urn:b> . <urn:g> { <urn:c> <urn:r> <urn:d>, [] }") as server:
        with pytest.warns(InputWarning, match="blank nodes"):
            found = named(read_sparql(server.url, graph="urn:g", limits=QUICK))
        assert ("urn:c", "urn:r", "urn:d") in found
        assert len(found) == 2
        turned = read_sparql(server.url, "CONSTRUCT { ?o <urn:of> ?s } WHERE { ?s ?p ?o }", limits=QUICK)
        assert named(turned) == [("urn:b", "urn:of", "urn:a")]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(503),
        Fault(429, {"Retry-After": "0"}),
        Fault(cut=100),
        Fault(cut=0),
        Fault(body=b'{"head": {"vars": ["s"]}, "results": {"bindings": [\njava.util.concurrent.TimeoutException'),
        Fault(body=b"[[[["),
        Fault(body=rows(("urn:\ud800", "urn:r", "urn:b"))),
        Fault(200, {"Content-Length": "999999"}),
    ],
)
def test_what_breaks_in_the_middle_is_asked_for_again(server, fault):
    server.faults = {3: fault, 4: fault}
    assert sorted(named(read_sparql(server.url, page_size=5, limits=QUICK))) == sorted(TRIPLES)
    assert server.queries[3] == server.queries[4] == server.queries[5]


def test_a_server_that_never_recovers_is_given_up(server):
    server.faults = dict.fromkeys(range(2, 100), Fault(503))
    limits = RequestLimits(attempts=3, wait=0)
    assert "/query: the server answered 503" in error_of(server.url, limits=limits)
    assert len(server.queries) == 5
    assert "refused" in error_of("http://127.0.0.1:9/query")


def test_pages_that_have_come_are_not_asked_for_again(server, tmp_path):
    pages = tmp_path / "pages"
    server.faults = {6: Fault(404)}
    assert "answered 404 Not Found: not now" in error_of(server.url, page_size=5, pages=pages)
    before = len(server.queries)
    graph = read_sparql(server.url, page_size=9, limits=QUICK, pages=pages)
    assert sorted(named(graph)) == sorted(TRIPLES)
    assert not set(server.queries[:6]) & set(server.queries[before:])
    before = len(server.queries)
    assert named(read_sparql(server.url, limits=QUICK, pages=pages)) == named(graph)
    assert len(server.queries) == before


def test_a_damaged_page_is_asked_for_again_and_pages_of_another_query_are_refused(server, tmp_path):
    pages = tmp_path / "pages"
    read_sparql(server.url, ALL, limits=QUICK, page_size=20, pages=pages)
    before = len(server.queries)
    (pages / "000000-000001.parquet").write_bytes(b"PAR1")
    assert sorted(named(read_sparql(server.url, ALL, limits=QUICK, page_size=20, pages=pages))) == sorted(TRIPLES)
    assert len(server.queries) == before + 1
    assert "another source or query" in error_of(server.url, kind=InputError, pages=pages)
    (tmp_path / "mine").write_text("")
    assert "found something else" in error_of(server.url, kind=InputError, pages=tmp_path)


def test_literals_are_counted_or_become_entities():
    with sparql_server('<urn:a> <urn:r> <urn:b>, 7, "x"@de .') as server:
        with pytest.warns(InputWarning, match="2 literals skipped"):
            assert named(read_sparql(server.url, limits=QUICK)) == [("urn:a", "urn:r", "urn:b")]
        kept = read_sparql(server.url, literals="keep", limits=QUICK)
        assert sorted(tail for _, _, tail in named(kept)) == ["7", "urn:b", "x"]


def test_blank_nodes_of_two_pages_are_kept_apart_unless_the_server_names_them():
    with sparql_server("_:x <urn:r> <urn:a>, <urn:b>, <urn:c> . <urn:d> <urn:r> _:x, <urn:e> .") as server:
        with pytest.warns(InputWarning, match="4 triples have blank nodes"):
            apart = read_sparql(server.url, ALL, page_size=2, limits=QUICK)
        together = read_sparql(server.url, ALL, page_size=2, blank_nodes="server", limits=QUICK)
    assert (apart.num_triples, together.num_triples) == (5, 5)
    assert (apart.num_entities, together.num_entities) == (7, 6)


@pytest.mark.parametrize("name", ['urn:"', "urn:\\", "urn:a b> } #", "urn:\n\t\x1b[31m", "urn:{ ?s ?p ?o }", "urn:é𝄞"])
def test_hostile_names_are_names_and_no_part_of_a_query(server, name):
    answers = [rows((name, name, '"2')), rows(), rows((name, name, name)), rows((name, name, "urn:b"))]
    server.faults = {number: Fault(body=body) for number, body in enumerate(answers)}
    assert named(read_sparql(server.url, limits=QUICK)) == [(name, name, name), (name, name, "urn:b")]
    assert len(server.queries) == 4
    for query in server.queries:
        server.store.query(query)  # which is a SyntaxError for what is no SPARQL


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (("urn:a", "?", "urn:b"), "expected ?s, ?p and ?o in every row"),
        (('"text', "urn:r", "urn:b"), "expected a triple between names"),
        (("urn:a", '"text', "urn:b"), "expected a triple between names"),
    ],
)
def test_rows_that_are_no_triples_are_refused(server, triple, message):
    server.faults = {0: Fault(body=rows(triple))}
    assert message in error_of(server.url, ALL, kind=InputError)


@pytest.mark.parametrize("query", ["DROP ALL", "ASK { ?s ?p ?o }", "DELETE WHERE { ?s ?p ?o }", "", "SELECTED"])
def test_queries_that_are_no_select_or_construct_are_never_sent(server, query):
    assert "expected SELECT ?s ?p ?o or CONSTRUCT" in error_of(server.url, query, kind=InputError)
    assert not server.queries


def test_what_the_server_says_about_a_wrong_query_is_shown(server):
    assert "answered 400 Bad Request: error at" in error_of(server.url, "SELECT ?s ?p ?o WHERE { nonsense")


def test_an_address_that_is_no_endpoint_is_named(server):
    server.faults = {0: Fault(200, {"Content-Type": "text/html"}, body=b"<html>")}
    assert "expected results of SPARQL, found text/html" in error_of(server.url)
    server.faults = {1: Fault(200, {"Content-Type": "text/html"}, body=b"<html>")}
    assert "expected RDF, found text/html" in error_of(server.url, "CONSTRUCT WHERE { ?s ?p ?o }")


def test_requests_are_bounded_in_bytes_time_and_triples(server):
    limits = RequestLimits(wait=0, max_bytes=500)
    assert "more than 500 bytes; ask for smaller pages" in error_of(server.url, ALL, limits=limits)
    server.faults = dict.fromkeys(range(100), Fault(pause=5))
    assert "timed out" in error_of(server.url, limits=RequestLimits(wait=0, timeout=0.05, attempts=2))
    server.faults = {}
    for query in (None, ALL):
        with pytest.warns(InputWarning, match="stopped at 7 triples"):
            read_sparql(server.url, query, max_triples=7, page_size=4, literals="keep", limits=QUICK)
    for option in ("max_triples", "page_size"):
        assert f"{option}: expected 1 or more" in error_of(server.url, kind=InputError, **{option: 0})


def test_a_server_that_does_not_page_is_found_out(server):
    server.faults = dict.fromkeys(range(100), Fault(body=rows(("urn:a", "urn:r", "urn:b"))))
    assert "the same page again" in error_of(server.url, ALL)


def test_a_number_of_triples_that_is_none_is_refused(server):
    server.faults = {0: Fault(body=rows(("urn:r1", "urn:r1", '"many'))), 1: Fault(body=rows())}
    assert "expected the number of triples of urn:r1, found 'many'" in error_of(server.url, kind=InputError)


def test_relations_that_lose_triples_meanwhile_are_named(server):
    server.faults = {0: Fault(body=rows(("urn:r1", "urn:r1", '"99'))), 1: Fault(body=rows())}
    with pytest.warns(InputWarning, match=r"11 of 99 triples came for SELECT \?s \(<urn:r1>"):
        read_sparql(server.url, limits=QUICK)


def test_a_login_is_sent_and_appears_nowhere(server, tmp_path):
    secret = "Bearer hunter2secret"
    server.required = {"Authorization": secret}
    assert "401 Unauthorized" in error_of(server.url)
    pages = tmp_path / "pages"
    graph = read_sparql(server.url, headers={"Authorization": secret}, pages=pages, limits=QUICK)
    assert sorted(named(graph)) == sorted(TRIPLES)
    assert not [path for path in pages.iterdir() if b"hunter2" in path.read_bytes()]
    server.faults = {len(server.queries): Fault(400, body=f"bad header {secret}\n".encode())}
    assert error_of(server.url, headers={"Authorization": secret}).endswith("400 Bad Request: bad header ***")
    broken = error_of(server.url, kind=InputError, headers={"Authorization": "hunter2\r\nX: y"})
    assert broken == "header 'Authorization': expected one line of ASCII"
    assert "hunter2" not in error_of("http://ada:hunter2@127.0.0.1/query", kind=InputError)
    with pytest.warns(InputWarning, match="go over http, where others can read them"):
        error_of("http://tripleshot.invalid/q?key=1", headers={"X-Key": secret}, limits=RequestLimits(attempts=1))


def test_a_redirect_is_named_and_not_followed(server):
    server.faults = {0: Fault(302, {"Location": server.url})}
    message = error_of(server.url, headers={"Authorization": "Bearer x"})
    assert f"answered 302 Found to {server.url}" in message
    assert len(server.queries) == 1


def test_progress_tells_how_many_triples_there_are(server):
    told = []
    read_sparql(server.url, page_size=10, limits=QUICK, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(TRIPLES) + len(LABELS),) * 2
    assert server.headers[0]["accept"] == JSON
    assert server.headers[0]["user-agent"].startswith("tripleshot/")
