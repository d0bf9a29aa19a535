"""Labels and types that a table has beside its triples: in columns that are called after those of the triples.

With the columns head, relation and tail, labels are in `head_label`, `relation_label` and `tail_label`, and types in
`head_types` and `tail_types`, as lists of text. Any of them may be missing, and any of their cells empty.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import EntityTypes

LABEL, TYPES = "_label", "_types"


def description_columns(schema: pa.Schema, triples: Sequence[str]) -> list[str]:
    """Return the columns of a table with labels or types.

    Args:
        schema: of the table.
        triples: names of the head, relation and tail columns.
    """
    wanted = {f"{name}{LABEL}": _is_text for name in triples}
    wanted |= {f"{name}{TYPES}": _is_texts for name in (triples[0], triples[2])}
    once = [name for name in wanted if schema.names.count(name) == 1]
    return [name for name in once if wanted[name](schema.field(name).type)]


def describe_graph(graph: KnowledgeGraph, table: pa.Table, names: Sequence[pa.ChunkedArray]) -> KnowledgeGraph:
    """Return a graph with the labels and types of the table that it was read from.

    Args:
        graph: without labels and types.
        table: whose first three columns are head, relation and tail; all others are as `description_columns` says.
        names: the first three columns as text.
    """
    head, relation, tail = table.column_names[:3]
    entities = _labels(table, head, names[0]) | _labels(table, tail, names[2])
    graph = graph.with_labels(entities, _labels(table, relation, names[1]))
    pairs = [_type_pairs(table, column, texts) for column, texts in ((head, names[0]), (tail, names[2]))]
    found = pa.concat_tables([pair for pair in pairs if pair is not None] or [EMPTY])
    if len(found) == 0:
        return graph
    distinct = found.group_by(["name", "value"]).aggregate([])
    ids = graph.entities.find(distinct["name"].combine_chunks())
    return graph.with_types(EntityTypes.from_pairs(ids, _whole(distinct["value"]), graph.num_entities))


EMPTY = pa.table({"name": pa.array([], pa.large_string()), "value": pa.array([], pa.large_string())})


def _labels(table: pa.Table, column: str, names: pa.ChunkedArray) -> dict[str, str]:
    """Return the first label of each name."""
    if f"{column}{LABEL}" not in table.column_names:
        return {}
    texts = _as_text(table[f"{column}{LABEL}"])
    pairs = pa.table({"name": names, "value": texts}).filter(pc.is_valid(texts))
    first = pairs.group_by("name", use_threads=False).aggregate([("value", "first")])
    found = zip(first["name"].to_pylist(), first["value_first"].to_pylist(), strict=True)
    return {name: label for name, label in found if label.strip()}


def _type_pairs(table: pa.Table, column: str, names: pa.ChunkedArray) -> pa.Table | None:
    """Return each name with each of its types, some of them several times."""
    if f"{column}{TYPES}" not in table.column_names:
        return None
    lists = _whole(table[f"{column}{TYPES}"])
    values = _as_text(pc.list_flatten(lists))
    pairs = pa.table({"name": _whole(names).take(pc.list_parent_indices(lists)), "value": values})
    return pairs.filter(pc.is_valid(pairs["value"]))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _as_text(column: Any) -> Any:  # noqa: ANN401 (an array, or a column of chunks)
    return column.cast(pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _is_texts(kind: pa.DataType) -> bool:
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type)
