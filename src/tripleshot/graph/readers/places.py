"""Which kind of place a source names: a SPARQL endpoint, Wikidata, a graph database, or files."""

import re
from typing import Literal

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.rdf import FORMATS
from tripleshot.graph.readers.sources import COMPRESSIONS

Place = Literal["sparql", "wikidata", "neo4j", "path"]

WIKIDATA = "wikidata:"
SCHEMES: dict[str, Place] = {
    "http": "sparql",
    "https": "sparql",
    "bolt": "neo4j",
    "bolt+s": "neo4j",
    "bolt+ssc": "neo4j",
    "neo4j": "neo4j",
    "neo4j+s": "neo4j",
    "neo4j+ssc": "neo4j",
}
FILES = (*FORMATS, *COMPRESSIONS, ".tsv", ".csv", ".txt", ".parquet")


def kind_of_place(source: str) -> Place:
    """Return what a source names, by how it begins.

    Raises:
        InputError: it is the address of a file.
    """
    if source.startswith(WIKIDATA):
        return "wikidata"
    scheme, separator, rest = source.partition("://")
    kind = SCHEMES.get(scheme.lower(), "path") if separator else "path"
    path = rest.partition("?")[0].partition("#")[0].partition("/")[2].lower() if kind == "sparql" else ""
    if path.endswith(FILES):
        raise InputError(f"{path}: looks like a file on the web, not like a SPARQL endpoint; download it first")
    return kind


def wikidata_properties(source: str) -> list[str]:
    """Return the properties that `wikidata:P19,P27` names; they may also be separated by spaces."""
    return re.split(r"[\s,]+", source.removeprefix(WIKIDATA).strip().rstrip(","))


def read_place(source: str, literals: Literal["skip", "keep"]) -> KnowledgeGraph | None:
    """Read all of a server's graph without any option, or return None for a path."""
    kind = kind_of_place(source)
    if kind == "sparql":
        from tripleshot.graph.readers.sparql import read_sparql

        return read_sparql(source, literals=literals)
    if kind == "wikidata":
        from tripleshot.graph.readers.wikidata import read_wikidata

        return read_wikidata(wikidata_properties(source))
    if kind == "neo4j":
        from tripleshot.graph.readers.neo4j import read_neo4j

        return read_neo4j(source)
    return None
