"""Proposed triples as files, by the ending of the file: tables, RDF with provenance, or Cypher."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tripleshot.answering.export.cypher import CYPHER_SUFFIXES, NodeStyle, write_cypher
from tripleshot.answering.export.iri_names import IriNames
from tripleshot.answering.export.rdf import FORMATS, write_rdf
from tripleshot.answering.export.rows import triples_of
from tripleshot.answering.provenance import METADATA, Provenance
from tripleshot.errors import InputError
from tripleshot.files.atomic import new_file
from tripleshot.tables import SUFFIXES, write_batches

__all__ = ["EXPORT_SUFFIXES", "TRIPLE_SUFFIXES", "ExportStyle", "check_export", "write_triples"]

TRIPLE_SUFFIXES = (*FORMATS, *CYPHER_SUFFIXES)
"""Endings of files that have triples, and so need the name of the relation."""

EXPORT_SUFFIXES = (*SUFFIXES, *TRIPLE_SUFFIXES)


@dataclass(frozen=True)
class ExportStyle:
    """How names appear in files that are no tables.

    Attributes:
        iris: in RDF.
        nodes: in Cypher.
    """

    iris: IriNames = field(default_factory=IriNames)
    nodes: NodeStyle = field(default_factory=NodeStyle)


def write_triples(
    batches: Iterable[pa.RecordBatch], path: Path, provenance: Provenance, style: ExportStyle | None = None
) -> None:
    """Write triples to a file as they come, whole or not at all; they are never in memory all at once.

    Args:
        batches: at least one, with the columns head, relation and tail, and what else is known of a proposal.
        path: its ending says what is written. Parquet files have the provenance in their metadata.
        provenance: where the triples come from.
        style: how names become IRIs and nodes.
    """
    check_export(path)
    chosen = style or ExportStyle()
    if path.suffix in SUFFIXES:
        write_batches(_with_provenance(batches, provenance) if path.suffix == ".parquet" else batches, path)
        return
    with new_file(path) as temporary, temporary.open("wb") as file:
        if path.suffix in FORMATS:
            write_rdf(triples_of(batches), file, FORMATS[path.suffix], provenance, chosen.iris)
        else:
            write_cypher(triples_of(batches), file, provenance, chosen.nodes)


def check_export(path: Path) -> None:
    """Refuse a file that triples cannot be written to."""
    if path.suffix not in EXPORT_SUFFIXES:
        endings = ", ".join(EXPORT_SUFFIXES)
        raise InputError(f"{path}: what is written goes by the ending of the file: {endings}")


def _with_provenance(batches: Iterable[pa.RecordBatch], provenance: Provenance) -> Iterator[pa.RecordBatch]:
    metadata = {METADATA: json.dumps(provenance.to_dict()).encode()}
    for batch in batches:
        yield batch.replace_schema_metadata(metadata)
