"""Files, frames, servers and factories in, one KnowledgeGraph out.

Every reader ends in `encoding`, so that ids, duplicates and empty names mean the same whatever the triples came from.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.delimited import read_delimited
from tripleshot.graph.readers.memory import read_factory, read_triples
from tripleshot.graph.readers.objects import is_hetero_data, is_networkx, read_hetero_data, read_networkx
from tripleshot.graph.readers.places import read_place
from tripleshot.graph.readers.rdf import FORMATS, read_rdf, read_rdflib
from tripleshot.graph.readers.sources import format_suffix, is_directory
from tripleshot.graph.readers.tables import find_shards, read_frame, read_parquet, read_shards

__all__ = ["Literals", "read_graph"]

Literals = Literal["skip", "keep"]
"""What becomes of RDF literals such as dates and numbers: they are left out, or are entities."""

ACCEPTED = (
    "a path, a data frame, an Arrow table, an iterable of (head, relation, tail) strings, "
    "a PyKEEN TriplesFactory, an rdflib Graph, a directed graph of networkx, a HeteroData or the address of a server"
)


def read_graph(
    source: Any,  # noqa: ANN401 (the types are those of libraries that need not be installed)
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    columns: Sequence[str] | None = None,
    literals: Literals = "skip",
) -> KnowledgeGraph:
    r"""Read triples from wherever they are.

    A path may lead to delimited text (.tsv, .csv, .txt, or any name without a known suffix), Parquet (.parquet), RDF
    (.nt, .ttl, .nq, .trig, .rdf, .jsonld), text and RDF also compressed (.gz, .zst), to a directory of Parquet files,
    which are one graph, or to one laid out like NELL-One, whose `path_graph` is read. In memory, a data frame (pandas,
    polars, Arrow), an iterable of (head, relation, tail) strings, a PyKEEN TriplesFactory (its ids are kept), an rdflib
    Graph, a directed graph of networkx and a HeteroData of PyTorch Geometric are read.

    An address is a SPARQL endpoint (`https://...`), a database that speaks Bolt (`bolt://...`, `neo4j://...`) or
    `wikidata:P19,P27`. `read_sparql`, `read_neo4j` and `read_wikidata` have their options, `read_sql` reads tables.

    A table may have labels beside its triples, in columns such as `head_label`, and types in `head_types`.

    Names are taken as they stand: "NA" and "null" are names, quotes in a TSV are part of a name. Blank lines, repeated
    triples and RDF literals are left out, each with one `InputWarning` that counts them. Everything else that is not
    three names is an `InputError` that says where: nothing is dropped in silence.

    Args:
        source: where the triples are.
        header: whether delimited text starts with column names; None looks for names such as head, relation, tail or
            subject, predicate, object. With a header there may be more than three columns.
        delimiter: what separates columns of delimited text; None goes by suffix, then by the first line. Tabs and
            spaces separate without quoting, anything else with CSV's quoting.
        columns: the names of the head, relation and tail columns, where they are not the usual ones.
        literals: whether RDF literals are left out or become entities; `rdfs:label` and `skos:prefLabel` become
            labels either way.

    Raises:
        InputError: the source is not of a kind named above, cannot be read, or holds something that is not a triple.
    """
    if columns is not None and (isinstance(columns, str) or len(columns) != 3):
        raise InputError(f"columns: expected the three names of head, relation and tail, found {columns!r}")
    if literals not in ("skip", "keep"):
        raise InputError(f"literals: expected 'skip' or 'keep', found {literals!r}")
    if isinstance(source, str) and (graph := read_place(source, literals)) is not None:
        return graph
    if isinstance(source, (str, PathLike)):
        return _read_path(Path(source), header, delimiter, columns, keep_literals=literals == "keep")
    if hasattr(source, "mapped_triples"):
        return read_factory(source)
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
        return read_frame(source, columns)
    if hasattr(source, "namespace_manager"):
        return read_rdflib(source, keep_literals=literals == "keep")
    if is_networkx(source):
        return read_networkx(source)
    if is_hetero_data(source):
        return read_hetero_data(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return read_triples(source)
    raise InputError(f"cannot read triples from {type(source).__name__}; expected {ACCEPTED}")


def _read_path(
    path: Path, header: bool | None, delimiter: str | None, columns: Sequence[str] | None, keep_literals: bool
) -> KnowledgeGraph:
    if is_directory(path):
        directory, path = path, path / "path_graph"
        if not path.is_file() and find_shards(directory):
            return read_shards(directory, columns)
        if not path.is_file():
            raise InputError(
                f"{directory}: expected a file, or a directory with a file named path_graph or with Parquet files"
            )
    suffix = format_suffix(path)
    if suffix == ".parquet":
        return read_parquet(path, columns)
    if suffix in FORMATS:
        return read_rdf(path, FORMATS[suffix], keep_literals)
    return read_delimited(path, header, delimiter, columns)
