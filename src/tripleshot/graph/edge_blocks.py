"""Edges sorted for the indexes of a graph, a block of entities at a time.

Sorting all edges at once would take several times the memory of the result. A block has a few million edges at most,
unless one entity has more. What is given block by block is appended in order, in memory or in a file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.graph.index_files import Columns

if TYPE_CHECKING:
    from tripleshot.graph.knowledge_graph import KnowledgeGraph

EDGES_PER_BLOCK = 1 << 22
SEVERAL = -2  # stands for the relation of a pair that several relations join


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Edges and their inverses by entity, in file order: a triple (h, r, t) is (r, t) for h and (r inverse, h) for t.

    Attributes:
        offsets: shape (num_entities + 1,), where each entity's edges start and end.
        relations: shape (2 * num_triples,), relation ids; an inverse is the relation's id + num_relations.
        entities: shape (2 * num_triples,), the entity at the other end.
        degrees: shape (num_entities,), number of edges of each entity.
    """

    offsets: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int32]
    entities: npt.NDArray[np.int32]
    degrees: npt.NDArray[np.int64]

    def edges(self, entity: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the relations and the neighbors of one entity, as views."""
        row = slice(self.offsets[entity], self.offsets[entity + 1])
        return self.relations[row], self.entities[row]


def split_rows(offsets: npt.NDArray[np.int64], max_values: int) -> Iterator[tuple[int, int]]:
    """Cut the rows of a CSR layout into ranges of at most so many values, one row at least."""
    first, num_rows = 0, len(offsets) - 1
    while first < num_rows:
        last = int(np.searchsorted(offsets, offsets[first] + max_values, side="right")) - 1
        last = min(max(last, first + 1), num_rows)
        yield first, last
        first = last


def adjacency_blocks(graph: "KnowledgeGraph") -> Iterator[Columns]:
    """Sort the edges by the entity that they leave, in file order: the columns of `Adjacency`, and degrees."""
    degrees = np.bincount(graph.head_ids, minlength=graph.num_entities)
    degrees += np.bincount(graph.tail_ids, minlength=graph.num_entities)
    offsets = np.zeros(graph.num_entities + 1, dtype=np.int64)
    np.cumsum(degrees, out=offsets[1:])
    yield {
        "offsets": offsets,
        "degrees": degrees,
        "relations": np.empty(0, dtype=np.int32),
        "entities": np.empty(0, dtype=np.int32),
    }
    for first, last in split_rows(offsets, EDGES_PER_BLOCK):
        leaving, arriving = (
            np.flatnonzero((ends >= first) & (ends < last)) for ends in (graph.head_ids, graph.tail_ids)
        )
        places = np.concatenate([leaving * 2, arriving * 2 + 1])
        places.sort(kind="stable")  # two sorted parts: where the edges stand in the file, an inverse after its edge
        triples, is_inverse = places >> 1, (places & 1).astype(bool)
        heads, tails = graph.head_ids[triples], graph.tail_ids[triples]
        order = arrays.sort_positions(np.where(is_inverse, tails, heads) - np.int32(first))
        relations = graph.relation_ids[triples] + is_inverse * np.int32(graph.num_relations)
        yield {"relations": relations[order], "entities": np.where(is_inverse, heads, tails)[order]}


def rows_by_relation(graph: "KnowledgeGraph") -> Iterator[Columns]:
    """Sort the triples by relation, in file order: where those of each relation start and end, and which they are."""
    offsets, order = arrays.group(graph.relation_ids, graph.num_relations)
    yield {"offsets": offsets, "rows": order if len(order) > np.iinfo(np.int32).max else order.astype(np.int32)}


def pair_blocks(graph: "KnowledgeGraph") -> Iterator[Columns]:
    """Sort the edges by the pairs that they join: the columns of `PairIndex`."""
    adjacency = graph.adjacency
    yield join_pairs(graph, *([np.empty(0, dtype=np.int64)] * 3), num_rows=0) | {"edges": np.zeros(1, dtype=np.int64)}
    num_pairs, num_edges = 0, 0
    for first, last in split_rows(adjacency.offsets, EDGES_PER_BLOCK):
        edges = slice(adjacency.offsets[first], adjacency.offsets[last])
        owners = np.repeat(np.arange(last - first), np.diff(adjacency.offsets[first : last + 1]))
        columns = join_pairs(graph, owners, adjacency.relations[edges], adjacency.entities[edges], last - first)
        columns["rows"] = columns["rows"][1:] + num_pairs
        columns["edges"] = columns["edges"][1:] + num_edges
        num_pairs, num_edges = num_pairs + len(columns["middles"]), num_edges + len(columns["relations"])
        yield columns


def join_pairs(
    graph: "KnowledgeGraph",
    owners: npt.NDArray[np.integer],
    relations: npt.NDArray[np.integer],
    others: npt.NDArray[np.integer],
    num_rows: int,
) -> Columns:
    """Sort edges by (owner, other) and put those between the same two together: the columns of `PairIndex`."""
    order = arrays.sort_positions(others)
    order = order[arrays.sort_positions(owners[order])]
    owners, others, relations = owners[order], others[order], relations[order].astype(np.int32)
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (owners[1:] != owners[:-1]) | (others[1:] != others[:-1])
    first = np.flatnonzero(is_first)
    sole = np.empty(0, dtype=np.int32)
    if len(first):
        bare = graph.base(relations)
        least, most = np.minimum.reduceat(bare, first), np.maximum.reduceat(bare, first)
        sole = np.where(least == most, least, np.int32(SEVERAL))
    return {
        "rows": np.searchsorted(owners[first], np.arange(num_rows + 1)),
        "middles": others[first].astype(np.int32),
        "edges": np.append(first, len(order)),
        "relations": relations,
        "sole_relations": sole,
    }


def profile_blocks(graph: "KnowledgeGraph") -> Iterator[Columns]:
    """Sort the edges by (entity, relation, other): the columns of `RelationProfiles` and `EdgesByRelation`."""
    adjacency, width = graph.adjacency, max(2 * graph.num_relations, 1)
    nothing = np.empty(0, dtype=np.int32)
    zero = np.zeros(1, dtype=np.int64)
    yield {"offsets": zero, "relations": nothing, "counts": nothing, "starts": zero, "entities": nothing}
    num_groups, num_edges = 0, 0
    num_entities_of = np.zeros(2 * graph.num_relations, dtype=np.int64)
    for first, last in split_rows(adjacency.offsets, EDGES_PER_BLOCK):
        edges = slice(adjacency.offsets[first], adjacency.offsets[last])
        owners = np.repeat(np.arange(last - first), np.diff(adjacency.offsets[first : last + 1]))
        keys, others = owners * width + adjacency.relations[edges], adjacency.entities[edges]
        order = arrays.sort_positions(others)
        order = order[arrays.sort_positions(keys[order])]
        keys, others = keys[order], others[order]
        ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1) + 1 if len(keys) else keys
        groups = keys[ends - 1]
        num_entities_of += np.bincount(groups % width, minlength=2 * graph.num_relations)
        yield {
            "offsets": np.searchsorted(groups, np.arange(1, last - first + 1) * width) + num_groups,
            "relations": (groups % width).astype(np.int32),
            "counts": np.diff(ends, prepend=0).astype(np.int32),
            "starts": ends + num_edges,
            "entities": others,
        }
        num_groups, num_edges = num_groups + len(groups), num_edges + len(others)
    yield {"rarity": np.log((graph.num_entities + 1) / (num_entities_of + 1))}
