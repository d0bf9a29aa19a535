"""Graphs that other libraries hold in memory: those of networkx, and PyTorch Geometric's HeteroData.

Neither need be installed: they are known by what they have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import ROLES
from tripleshot.graph.readers.encoding import encode_names, warn_of_duplicates
from tripleshot.graph.readers.memory import as_name, read_names
from tripleshot.graph.readers.sources import shorten
from tripleshot.graph.types import EntityTypes

RELATION_ATTRIBUTES = (*sorted(ROLES[1]), "type", "label", "edge_type")
"""Attributes of an edge that name its relation, where an edge has one of them and no other."""
NODE_LABEL, NODE_TYPE = "label", "type"


def is_networkx(source: object) -> bool:
    """Tell whether something is a graph of networkx."""
    return all(hasattr(source, name) for name in ("edges", "nodes", "is_directed", "is_multigraph"))


def is_hetero_data(source: object) -> bool:
    """Tell whether something is a HeteroData of PyTorch Geometric."""
    return all(hasattr(source, name) for name in ("edge_types", "node_types", "__getitem__"))


def read_networkx(graph: Any, relation: str | None = None) -> KnowledgeGraph:  # noqa: ANN401 (of networkx)
    """Read a directed graph of networkx; attributes `label` and `type` of nodes become labels and types.

    Args:
        graph: a DiGraph or MultiDiGraph, whose nodes are texts or integers.
        relation: the attribute of edges that is their relation. None takes the one that is called relation, predicate,
            type or the like; in a multigraph without any, the key of the edge.

    Raises:
        InputError: the graph has no direction, an edge no relation, or a node no name.
    """
    if not graph.is_directed():
        raise InputError("networkx: expected a directed graph: in this one edges have no head and no tail")
    _refuse_same_names(graph.nodes)
    found = read_names(_edges(graph, relation), "networkx")
    labels = {str(node): text for node, text in graph.nodes(data=NODE_LABEL) if isinstance(text, str) and text.strip()}
    kinds = [(str(node), kind) for node, kind in graph.nodes(data=NODE_TYPE) if isinstance(kind, str)]
    owners = found.entities.find([name for name, _ in kinds])
    if (owners >= 0).any():
        typed = [kind for owner, (_, kind) in zip(owners, kinds, strict=True) if owner >= 0]
        found = found.with_types(EntityTypes.from_pairs(owners[owners >= 0], typed, found.num_entities))
    return found.with_labels(labels)


def _edges(graph: Any, relation: str | None) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401 (of networkx)
    edges = graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True)
    for head, tail, *keys, attributes in edges:
        place = f"networkx: edge {shorten(repr((head, tail, *keys)))}"
        name = _relation(attributes, keys, relation, place)
        yield as_name(head, place), as_name(name, place), as_name(tail, place)


def _relation(attributes: Mapping[str, Any], keys: Sequence[Any], relation: str | None, place: str) -> object:
    if relation is not None:
        if relation not in attributes:
            raise InputError(f"{place}: has no attribute {relation!r}")
        return attributes[relation]
    named = [name for name in RELATION_ATTRIBUTES if name in attributes]
    if len(named) == 1:
        return attributes[named[0]]
    if not named and keys and isinstance(keys[0], str):
        return keys[0]
    found = f"several attributes: {', '.join(named)}" if named else "no attribute and no key"
    raise InputError(f"{place}: expected one that names the relation, found {found}; read_networkx says which it is")


def _refuse_same_names(nodes: Iterable[object]) -> None:
    seen: dict[str, object] = {}
    for node in nodes:
        other = seen.setdefault(str(node), node)
        if other != node:
            raise InputError(f"networkx: nodes {other!r} and {node!r} would have the same name")


def read_hetero_data(data: Any, names: Mapping[str, Sequence[str]] | None = None) -> KnowledgeGraph:  # noqa: ANN401
    """Read PyTorch Geometric's HeteroData: each edge type is a relation, and node types are types of entities.

    Args:
        data: with an `edge_index` for every edge type.
        names: for node types whose nodes have names, the name of each; others are called `author:7`.

    Raises:
        InputError: there are no edges, or an index beyond the names.
    """
    columns: tuple[list[pa.Array], ...] = ([], [], [])
    owners: list[tuple[pa.Array, str]] = []
    for edge_type in data.edge_types:
        source, relation, target = edge_type
        ends = np.asarray(data[edge_type].edge_index)
        if ends.ndim != 2 or len(ends) != 2:
            raise InputError(f"HeteroData: {edge_type}: expected an edge_index of shape (2, edges), found {ends.shape}")
        for column, kind, ids in ((columns[0], source, ends[0]), (columns[2], target, ends[1])):
            column.append(_node_names(kind, ids, names or {}))
            owners.append((column[-1], kind))
        columns[1].append(pa.array([relation], pa.large_string()).take(np.zeros(ends.shape[1], np.int64)))
    if not sum(map(len, columns[0])):
        raise InputError("HeteroData: expected edges, found none")
    encoded = encode_names(*(pa.chunked_array(column) for column in columns))
    warn_of_duplicates(encoded, "HeteroData", "edge")
    graph = encoded.graph
    ids = [graph.entities.find(pc.unique(found)) for found, _ in owners]
    kinds = [kind for found, (_, kind) in zip(ids, owners, strict=True) for _ in found]
    return graph.with_types(EntityTypes.from_pairs(np.concatenate(ids), kinds, graph.num_entities))


def _node_names(kind: str, ids: np.ndarray, names: Mapping[str, Sequence[str]]) -> pa.Array:
    if kind not in names:
        numbers = pa.array(ids.astype(np.int64)).cast(pa.large_string())
        return pc.binary_join_element_wise(
            pa.scalar(f"{kind}:", pa.large_string()), numbers, pa.scalar("", pa.large_string())
        )
    given = names[kind]
    if len(ids) and (ids.min() < 0 or ids.max() >= len(given)):
        raise InputError(f"HeteroData: node type {kind!r} has {len(given):,} names, and an edge of node {ids.max():,}")
    return pa.array(given, pa.large_string()).take(pa.array(ids))
