import re
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cypher_engines import HOSTILE
from tripleshot.answering.export.cypher import NodeStyle, quote_name, quote_string, write_cypher
from tripleshot.answering.export.rows import ProposedTriple
from tripleshot.answering.provenance import Provenance, RelationOrigin
from tripleshot.errors import InputError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
BACK = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", "'": "'"}
UNICODE = re.compile(r"\\u([0-9A-Fa-f]{4})")


def resolve_unicode(text):
    """What Cypher 5 does before it looks for quotes, at its most eager: wherever a backslash stands before a u."""
    return UNICODE.sub(lambda found: chr(int(found[1], 16)), text)


def read_string(expression):
    """Read strings that are added to each other; anything behind them is an error."""
    result, rest = "", expression
    while True:
        found = re.match(r"'((?:[^\\']|\\.)*)'", rest, re.DOTALL)
        assert found, expression
        result += re.sub(
            r"\\(u[0-9A-Fa-f]{4}|.)",
            lambda escape: chr(int(escape[1][1:], 16)) if len(escape[1]) > 1 else BACK[escape[1]],
            found[1],
        )
        rest = rest[found.end() :]
        if not rest:
            return result
        assert rest.startswith(" + ")
        rest = rest[3:]


@given(TEXTS)
@example("\\u0027")
@example("\\\\u0027 + x")
@example("\\\x00")
def test_a_string_comes_back_whether_or_not_unicode_is_resolved_first(text):
    assert read_string(quote_string(text)) == text
    assert read_string(resolve_unicode(quote_string(text))) == text


@given(TEXTS)
@example("\\u0060) DETACH DELETE n //")
@example("\\\\u0060")
def test_a_name_never_ends_early(name):
    for written in (quote_name(name), resolve_unicode(quote_name(name))):
        assert re.fullmatch(r"`(?:[^`]|``)*`", written)
    assert resolve_unicode(quote_name(name))[1:-1].replace("``", "`") == name


def written(rows, style=None):
    provenance = Provenance(
        "2026-01-02T03:04:05+00:00", "1.2.3", "evidence", "ab", "g", (RelationOrigin("r", (("a", "b"),)),)
    )
    file = BytesIO()
    write_cypher(rows, file, provenance, style or NodeStyle())
    return file.getvalue().decode(), str(provenance.run)


def test_a_statement_merges_relationships_between_nodes_that_are_there():
    text, run = written([ProposedTriple("Baku", "lies on", "Caspian Sea", 0.9, 7.5, 1)], NodeStyle("Place", "title"))
    about, statement, rest = text.split(";\n")
    assert rest == ""
    assert about == (
        f"MERGE (run:TripleshotRun {{id: '{run}'}})\n"
        "SET run += {tripleshot: '1.2.3', method: 'evidence', graph: 'ab', "
        "time: datetime('2026-01-02T03:04:05+00:00'), examples: ['a\\tr\\tb']}"
    )
    properties = f"{{confidence: row.confidence, score: row.score, rank: row.rank, run: '{run}'}}"
    assert statement.split("\n") == [
        "WITH [",
        "  {head: 'Baku', tail: 'Caspian Sea', confidence: 0.9, score: 7.5, rank: 1}",
        "] AS rows",
        "UNWIND rows AS row",
        "MATCH (head:`Place` {`title`: row.head})",
        "MATCH (tail:`Place` {`title`: row.tail})",
        "MERGE (head)-[proposed:`lies on`]->(tail)",
        f"ON CREATE SET proposed.run = '{run}'",
        "WITH row, proposed WHERE proposed.run IS NOT NULL",
        f"SET proposed += {properties}",
    ]


def test_nodes_are_found_by_their_element_ids_where_these_are_the_names():
    text, _ = written([ProposedTriple("4:x:1", "r", "4:x:2")], NodeStyle(key="elementId()"))
    assert "MATCH (head) WHERE elementId(head) = row.head\n" in text
    with pytest.raises(InputError, match="node-key"):
        NodeStyle(key="")


def test_many_rows_are_several_statements_and_a_statement_has_one_type():
    rows = [ProposedTriple(f"h{i}", "first" if i < 600 else "second", "t", 0.5) for i in range(700)]
    text, _ = written(rows)
    assert re.findall(r"proposed:`(\w+)`", text) == ["first", "first", "second"]
    assert text.count("{head: ") == 700


def test_a_value_that_is_not_known_is_null():
    text, _ = written(
        [ProposedTriple("a", "r", "b", 0.5, 1.0), ProposedTriple("a", "r", "c", None, float("inf"), None, "x")]
    )
    assert "{head: 'a', tail: 'c', confidence: null, score: null}" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_a_value(name):
    text, _ = written([ProposedTriple(name, name, name, 0.5)])
    row = re.search(r"\{head: (.*), tail: (.*), confidence: 0\.5\}", resolve_unicode(text), re.DOTALL)
    assert row is not None
    assert read_string(row[1]) == read_string(row[2]) == name
