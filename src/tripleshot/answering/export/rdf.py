"""Proposed triples as RDF, with their confidence and where they come from (PROV-O).

Turtle and N-Triples are RDF 1.2: each proposal is a node that `rdf:reifies` a triple term. The triple itself is not
stated, so that a store that loads the file holds no new fact. TriG and N-Quads are RDF 1.1: triples are stated in a
named graph of their own, and a second one says of each, by `rdf:subject`, `rdf:predicate` and `rdf:object`, how
confident it is. Dropping both graphs takes everything back.
"""

import uuid
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from tripleshot.answering.export.iri_names import IriNames
from tripleshot.answering.export.rows import MEASURES, ProposedTriple
from tripleshot.answering.provenance import Provenance

FORMATS = {
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".trig": RdfFormat.TRIG,
    ".nq": RdfFormat.N_QUADS,
}
RDF, RDFS, XSD, PROV, OWN = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/ns/prov#",
    "urn:tripleshot:",
)
PREFIXES = {"rdf": RDF, "rdfs": RDFS, "xsd": XSD, "prov": PROV, "tripleshot": OWN}
TYPE, LABEL, REIFIES = NamedNode(f"{RDF}type"), NamedNode(f"{RDFS}label"), NamedNode(f"{RDF}reifies")
ENDS = [NamedNode(f"{RDF}{end}") for end in ("subject", "predicate", "object")]

Term = NamedNode | Literal


def write_rdf(
    triples: Iterable[ProposedTriple], file: IO[bytes], rdf_format: RdfFormat, provenance: Provenance, iris: IriNames
) -> None:
    """Write proposals and where they come from, as they come."""
    has_prefixes = rdf_format in (RdfFormat.TURTLE, RdfFormat.TRIG)
    content = _Content(provenance, iris)
    rows = content.quads(triples) if rdf_format.supports_datasets else content.triples(triples)
    serialize(rows, file, rdf_format, prefixes=PREFIXES if has_prefixes else None)


class _Content:
    """What is said about proposals; statements are (subject, predicate, object)."""

    def __init__(self, provenance: Provenance, iris: IriNames) -> None:
        self.provenance, self.iris = provenance, iris
        self.graph = NamedNode(f"urn:uuid:{provenance.run}")
        self.activity = NamedNode(f"{self.graph.value}#activity")

    def triples(self, proposed: Iterable[ProposedTriple]) -> Iterator[Triple]:
        """Give RDF 1.2: no proposal is stated, each is reified."""

        def reified(node: NamedNode, ends: list[NamedNode]) -> Iterator[Triple]:
            yield Triple(node, REIFIES, Triple(*ends))

        for node, ends in self.examples():
            yield from reified(node, ends)
        yield from (Triple(*statement) for statement in self.about_run())
        for row in proposed:
            node, ends = self.node(row), self.ends(row)
            yield from reified(node, ends)
            yield from (Triple(*statement) for statement in self.about(node, row))

    def quads(self, proposed: Iterable[ProposedTriple]) -> Iterator[Quad]:
        """Give RDF 1.1: proposals in a graph, and what is said about them in another."""
        beside = NamedNode(f"{self.graph.value}#provenance")

        def described(node: NamedNode, ends: list[NamedNode]) -> Iterator[tuple[NamedNode, NamedNode, Term]]:
            yield node, TYPE, NamedNode(f"{RDF}Statement")
            yield from ((node, place, end) for place, end in zip(ENDS, ends, strict=True))

        about = chain(self.about_run(), chain.from_iterable(described(*example) for example in self.examples()))
        yield from (Quad(*statement, beside) for statement in about)
        for row in proposed:
            node, ends = self.node(row), self.ends(row)
            head, relation, tail = ends
            yield Quad(head, relation, tail, self.graph)
            about = chain(described(node, ends), self.about(node, row))
            yield from (Quad(*statement, beside) for statement in about)

    def about_run(self) -> Iterator[tuple[NamedNode, NamedNode, Term]]:
        """Say which program has made the proposals, when, by which method and of which graph."""
        found = self.provenance
        agent = NamedNode(f"{OWN}software:{found.version}")
        yield self.graph, TYPE, _prov("Entity")
        yield self.graph, _prov("wasGeneratedBy"), self.activity
        yield self.activity, TYPE, _prov("Activity")
        yield self.activity, _prov("endedAtTime"), Literal(found.time, datatype=NamedNode(f"{XSD}dateTime"))
        yield self.activity, _prov("wasAssociatedWith"), agent
        yield agent, TYPE, _prov("SoftwareAgent")
        yield agent, LABEL, Literal(f"tripleshot {found.version}")
        if found.method:
            yield self.activity, _own("method"), Literal(found.method)
        if found.graph:
            source = NamedNode(f"{OWN}graph:{found.graph}")
            yield self.activity, _prov("used"), source
            yield source, TYPE, _prov("Entity")
            yield source, _own("sha256"), Literal(found.graph)
            yield source, LABEL, Literal(found.graph_name)
        for node, _ in self.examples():
            yield self.activity, _prov("used"), node

    def about(self, node: NamedNode, row: ProposedTriple) -> Iterator[tuple[NamedNode, NamedNode, Term]]:
        """Say of a proposal how confident it is, and what it was generated by."""
        yield node, _prov("wasGeneratedBy"), self.activity
        for measure in MEASURES:
            value = getattr(row, measure)
            if value is not None:
                yield node, _own(measure), Literal(value)

    def examples(self) -> Iterator[tuple[NamedNode, list[NamedNode]]]:
        """Give a node for each example, and the three ends of its triple."""
        for origin in self.provenance.relations:
            for head, tail in origin.examples:
                row = ProposedTriple(head, origin.name, tail)
                yield self.node(row), self.ends(row)

    def ends(self, row: ProposedTriple) -> list[NamedNode]:
        return [self.iris.iri(name) for name in row[:3]]

    def node(self, row: ProposedTriple) -> NamedNode:
        """Return the node that stands for a triple of this run."""
        return NamedNode(f"urn:uuid:{uuid.uuid5(self.provenance.run, chr(0).join(row[:3]))}")


def _prov(name: str) -> NamedNode:
    return NamedNode(f"{PROV}{name}")


def _own(name: str) -> NamedNode:
    return NamedNode(f"{OWN}{name}")
