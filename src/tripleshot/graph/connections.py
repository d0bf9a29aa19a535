"""What joins two entities in the graph: links and paths of two steps, in either direction.

Only the smaller of the two neighborhoods is sorted, and the bound is applied before paths are spelled out, so that a
hub with millions of edges costs a few passes over them.
"""

from dataclasses import dataclass
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph

MAX_CONNECTIONS = 20


@dataclass(frozen=True)
class Connection:
    """A link, or a path of two steps, from a head to a tail.

    Attributes:
        relations: the relation of each step as an edge that leaves the step's first entity; past `num_relations` it is
            an inverse.
        entities: from the head to the tail, both included.
    """

    relations: tuple[int, ...]
    entities: tuple[int, ...]


def find_connections(
    graph: KnowledgeGraph, head: int, tail: int, limit: int = MAX_CONNECTIONS
) -> tuple[Connection, ...]:
    """Return how the graph joins two entities: all links, then paths through the entity with the fewest edges first.

    Parallel relations are connections of their own. Paths that pass through the head or the tail itself are none.
    """
    links = _relations_to(graph, head, np.array([tail]))[tail]
    connections = [Connection((relation,), (head, tail)) for relation in links]
    return tuple([*connections, *_paths(graph, head, tail, limit)][:limit])


def _paths(graph: KnowledgeGraph, head: int, tail: int, limit: int) -> list[Connection]:
    middles = _common_neighbors(graph, head, tail)
    middles = middles[np.lexsort([middles, graph.degrees[middles]])][:limit]
    of_head, of_tail = _relations_to(graph, head, middles), _relations_to(graph, tail, middles)
    steps = (
        (middle, first, graph.inverse(second))
        for middle in middles.tolist()
        for first, second in product(of_head[middle], of_tail[middle])
    )
    return [Connection((first, second), (head, middle, tail)) for middle, first, second in islice(steps, limit)]


def _common_neighbors(graph: KnowledgeGraph, head: int, tail: int) -> npt.NDArray[np.int32]:
    """Return the distinct entities next to both, sorted, without the two."""
    fewer, more = sorted((graph.adjacency.edges(end)[1] for end in (head, tail)), key=len)
    near = np.sort(fewer)
    places, found = arrays.lookup(near, more)
    is_common = np.zeros(len(near), dtype=bool)
    is_common[places[found]] = True
    return near[is_common & (near != head) & (near != tail)]


def _relations_to(graph: KnowledgeGraph, entity: int, others: IntArray) -> dict[int, list[int]]:
    """Return the distinct relations of the edges from an entity to each of a few others."""
    relations, entities = graph.adjacency.edges(entity)
    kept = np.isin(entities, others)
    relations, entities = relations[kept], entities[kept]
    return {other: np.unique(relations[entities == other]).tolist() for other in others.tolist()}
