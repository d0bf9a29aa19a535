"""RDF files through pyoxigraph's streaming parsers, and rdflib graphs.

RDF says more than triples between things: literals are values, and some of them are names for people. Those become
labels, the others are left out (and counted) or kept as entities.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyoxigraph

from tripleshot.errors import InputError, warn
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.memory import read_names
from tripleshot.graph.readers.sources import open_binary, reason, shorten

FORMATS = {
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".nq": pyoxigraph.RdfFormat.N_QUADS,
    ".trig": pyoxigraph.RdfFormat.TRIG,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
LABELS = frozenset({"http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel"})


class Statement(NamedTuple):
    """One RDF triple as names."""

    subject: str
    predicate: str
    object: str
    language: str | None  # of a literal, empty where it says none; None where the object is no literal


class Literals:
    """What became of the literals: labels, entities, or left out."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.labels: dict[str, str] = {}
        self.num_skipped = 0
        self.first_skipped = ""
        self._foreign: set[str] = set()

    def triples(self, statements: Iterable[Statement]) -> Iterator[tuple[str, str, str]]:
        """Yield the statements that are triples between entities, and remember the others."""
        for subject, predicate, name, language in statements:
            if language is None or (self.keep and predicate not in LABELS and name.strip()):
                yield subject, predicate, name
            elif predicate in LABELS and name.strip():
                self._label(subject, name, language)
            else:
                self.num_skipped += 1
                self.first_skipped = self.first_skipped or f"{subject} {predicate} {shorten(name)!r}"

    def _label(self, subject: str, text: str, language: str) -> None:
        """Keep the first label, unless it is in another language and now there is one in English or in none."""
        is_foreign = language.lower().split("-")[0] not in ("", "en")
        if subject in self.labels and (is_foreign or subject not in self._foreign):
            return
        self.labels[subject] = text
        (self._foreign.add if is_foreign else self._foreign.discard)(subject)


def read_rdf(path: Path, file_format: pyoxigraph.RdfFormat, keep_literals: bool = False) -> KnowledgeGraph:
    """Read an RDF file; names are IRIs without their brackets and blank nodes as `_:id`, named graphs are merged."""
    with open_binary(path) as stream:
        try:
            return read_statements(_parsed(stream, file_format, path), str(path), keep_literals)
        except SyntaxError as error:
            place = str(path) if error.lineno is None else f"{path}:{error.lineno}"
            raise InputError(f"{place}: {reason(error)}") from error


def read_rdflib(graph: Iterable[tuple[Any, Any, Any]], keep_literals: bool = False) -> KnowledgeGraph:
    """Read the terms of an rdflib Graph; names are what `str` makes of them."""
    statements = (
        Statement(str(subject), str(predicate), str(term), (term.language or "") if hasattr(term, "datatype") else None)
        for subject, predicate, term in graph
    )
    return read_statements(statements, type(graph).__name__, keep_literals)


def read_statements(statements: Iterable[Statement], origin: str, keep_literals: bool = False) -> KnowledgeGraph:
    """Read statements from anywhere; what becomes of literals is decided here."""
    literals = Literals(keep_literals)
    graph = read_names(literals.triples(statements), origin)
    if literals.num_skipped:
        counted = "literal" if literals.num_skipped == 1 else "literals"
        warn(
            f"{origin}: {literals.num_skipped:,} {counted} skipped, the first in {literals.first_skipped}; "
            'literals="keep" makes entities of them'
        )
    return graph.with_labels(literals.labels, literals.labels)


def _parsed(stream: pa.NativeFile, file_format: pyoxigraph.RdfFormat, path: Path) -> Iterator[Statement]:
    for quad in pyoxigraph.parse(stream, format=file_format):
        yield statement_of(quad, str(path))


def statement_of(quad: pyoxigraph.Triple | pyoxigraph.Quad, origin: str) -> Statement:
    """Return a triple of pyoxigraph as names."""
    term = quad.object
    if isinstance(term, pyoxigraph.NamedNode):
        name, language = term.value, None
    elif isinstance(term, pyoxigraph.Literal):
        name, language = term.value, term.language or ""
    elif isinstance(term, pyoxigraph.BlankNode):
        name, language = str(term), None
    else:
        raise InputError(f"{origin}: expected triples of names, found a triple within a triple: {shorten(str(quad))}")
    subject = quad.subject
    named = isinstance(subject, pyoxigraph.NamedNode)
    return Statement(subject.value if named else str(subject), quad.predicate.value, name, language)
