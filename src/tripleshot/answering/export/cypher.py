r"""Proposed triples as Cypher, for `cypher-shell` and other programs that run a file of statements.

Values stand in a list that a statement goes through (`UNWIND`), so that no name is part of the statement but for the
type of a relationship, which Cypher wants there. Names are other people's data: nothing in them ends a string or a
backquoted name. Cypher 5 replaces `\u0027` by what it stands for before it looks for quotes, so that no `\u` of a name
may appear as such.

Statements keep to what small engines of openCypher know, too: a list has a name before a statement goes through it, and
no expression stands where properties are set.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from math import isfinite
from typing import IO

from tripleshot.answering.export.rows import MEASURES, ProposedTriple
from tripleshot.answering.provenance import Provenance
from tripleshot.errors import InputError

CYPHER_SUFFIXES = (".cypher", ".cql")
ROWS_PER_STATEMENT = 500
RUN_LABEL = "TripleshotRun"
ELEMENT_ID = "elementId()"
ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
ESCAPED = re.compile(r"[\\'\x00-\x1f\x7f-\x9f\u2028\u2029]")
BACKSLASH = "\\"


@dataclass(frozen=True)
class NodeStyle:
    """How an entity is a node.

    Attributes:
        label: of the node; empty where nodes are found by the key alone, which takes long in a large database.
        key: the property that has the entity's name, or `elementId()`.
    """

    label: str = ""
    key: str = "name"

    def __post_init__(self) -> None:
        if not self.key:
            raise InputError("node-key: give the property that has the name of an entity, or elementId()")

    def find(self, end: str) -> str:
        """Return the clause that finds the node of a head or a tail."""
        label = f":{quote_name(self.label)}" if self.label else ""
        if self.key == ELEMENT_ID:
            return f"MATCH ({end}{label}) WHERE elementId({end}) = row.{end}"
        return f"MATCH ({end}{label} {{{quote_name(self.key)}: row.{end}}})"


def write_cypher(triples: Iterable[ProposedTriple], file: IO[bytes], provenance: Provenance, style: NodeStyle) -> None:
    """Write statements, some hundred proposals each, as they come.

    Nodes are those of the database: about an entity that is not there nothing is proposed. A relationship that is there
    already without a run is a fact, and left as it is.
    """
    run = quote_string(str(provenance.run))
    file.write(_run_statement(provenance, run).encode())
    for relation, rows in groupby(triples, key=lambda row: row.relation):
        while some := list(islice(rows, ROWS_PER_STATEMENT)):
            file.write(_statement(relation, some, run, style).encode())


def quote_string(text: str) -> str:
    """Write a text as a string of Cypher; before a `u` that follows a backslash it ends, and another one is added."""
    parts = re.split(r"(?<=\\)(?=u)", text)
    return " + ".join(f"'{ESCAPED.sub(_escape, part)}'" for part in parts)


def quote_name(name: str) -> str:
    """Write a label, a type or a property as a backquoted name; where a `u` follows, backslashes are numbers."""
    safe = name.replace(BACKSLASH, f"{BACKSLASH}u005C") if f"{BACKSLASH}u" in name else name
    return f"`{safe.replace('`', '``')}`"


def _escape(found: re.Match[str]) -> str:
    return ESCAPES.get(found[0]) or f"{BACKSLASH}u{ord(found[0]):04X}"


def _run_statement(provenance: Provenance, run: str) -> str:
    """Describe the run as a node, which relationships name by its id."""
    examples = [
        quote_string("\t".join((head, origin.name, tail)))
        for origin in provenance.relations
        for head, tail in origin.examples
    ]
    about = {
        "tripleshot": quote_string(provenance.version),
        "method": quote_string(provenance.method),
        "graph": quote_string(provenance.graph),
        "time": f"datetime({quote_string(provenance.time)})",
        "examples": f"[{', '.join(examples)}]",
    }
    return f"MERGE (run:{RUN_LABEL} {{id: {run}}})\nSET run += {_map(about)};\n"


def _statement(relation: str, rows: Sequence[ProposedTriple], run: str, style: NodeStyle) -> str:
    known = [name for name in MEASURES if getattr(rows[0], name) is not None]
    lists = ",\n".join(f"  {_map(_values(row, known))}" for row in rows)
    properties = _map({**{name: f"row.{name}" for name in known}, "run": run})
    return "\n".join(
        (
            f"WITH [\n{lists}\n] AS rows",
            "UNWIND rows AS row",
            style.find("head"),
            style.find("tail"),
            f"MERGE (head)-[proposed:{quote_name(relation)}]->(tail)",
            f"ON CREATE SET proposed.run = {run}",
            "WITH row, proposed WHERE proposed.run IS NOT NULL",
            f"SET proposed += {properties};\n",
        )
    )


def _values(row: ProposedTriple, known: Sequence[str]) -> dict[str, str]:
    ends = {"head": quote_string(row.head), "tail": quote_string(row.tail)}
    return {**ends, **{name: _literal(getattr(row, name)) for name in known}}


def _literal(value: float | str | None) -> str:
    if isinstance(value, str):
        return quote_string(value)
    return "null" if value is None or not isfinite(value) else repr(value)


def _map(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}: {value}' for name, value in values.items())}}}"
