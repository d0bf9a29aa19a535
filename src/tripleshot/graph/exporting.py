"""A graph as one Parquet file with its names, labels and types, which every reader of tables understands."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tripleshot import arrays
from tripleshot.errors import InputError
from tripleshot.files.atomic import new_file
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.descriptions import LABEL, TYPES
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary

ROWS_AT_ONCE = 1 << 20


def write_graph(graph: KnowledgeGraph, path: Path, overwrite: bool = False) -> None:
    """Write a graph to a Parquet file, whole or not at all; `read_graph` returns the same graph.

    The file has the columns head, relation and tail; labels are in `head_label`, `relation_label` and `tail_label`,
    types in `head_types` and `tail_types`. An entity without a triple is not in the file.

    Args:
        graph: to write.
        path: of the file, which ends with .parquet.
        overwrite: whether a file that is there is replaced.

    Raises:
        InputError: the file exists, or has another suffix.
    """
    check_target(path, overwrite)
    with new_file(path) as temporary:
        writer = None
        try:
            for start in range(0, max(graph.num_triples, 1), ROWS_AT_ONCE):
                rows = _rows(graph, slice(start, start + ROWS_AT_ONCE))
                writer = writer or pq.ParquetWriter(temporary, rows.schema, compression="zstd")
                writer.write_table(rows)
        finally:
            if writer is not None:
                writer.close()


def check_target(path: Path, overwrite: bool = False) -> None:
    """Raise an InputError if a graph cannot be written to a file, before anything is done for it."""
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: a graph is written as Parquet; choose a name that ends with .parquet")
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: exists already; overwrite=True replaces it")


def _rows(graph: KnowledgeGraph, rows: slice) -> pa.Table:
    ends = {"head": graph.head_ids[rows], "tail": graph.tail_ids[rows]}
    columns = {
        "head": graph.entities.names.take(ends["head"]),
        "relation": graph.relations.names.take(graph.relation_ids[rows]),
        "tail": graph.entities.names.take(ends["tail"]),
    }
    columns |= _label_column("relation", graph.relations, graph.relation_ids[rows])
    for name, ids in ends.items():
        columns |= _label_column(name, graph.entities, ids)
        columns |= {} if graph.types is None else {f"{name}{TYPES}": _type_lists(graph.types, ids)}
    return pa.table(columns)


def _label_column(name: str, vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> dict[str, pa.Array]:
    return {} if vocabulary.labels is None else {f"{name}{LABEL}": vocabulary.labels.take(ids)}


def _type_lists(types: EntityTypes, ids: npt.NDArray[np.int32]) -> pa.LargeListArray:
    positions, _ = arrays.expand(types.offsets, ids)
    lengths = types.offsets[ids + 1] - types.offsets[ids]
    names = pa.array(types.names, pa.large_string()).take(types.values[positions])
    return pa.LargeListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]), names)
