"""What joins entities: the edges between them and paths of two steps through common neighbors.

`PairIndex` finds them for whole batches of pairs, for methods to learn from; `find_connections` spells them out for one
pair, for people to read. Only the smaller of two neighborhoods is walked through.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray
from tripleshot.graph.edge_blocks import join_pairs, pair_blocks
from tripleshot.graph.hidden_edges import NO_RELATION, HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph

MAX_CONNECTIONS = 20


@dataclass(frozen=True, eq=False)
class CommonNeighbors:
    """Entities next to both members of a pair, each as often as there are pairs that it joins.

    Attributes:
        owners: shape (n,), which pair.
        middles: shape (n,), the entity.
        of_heads: shape (n,), row of (head, middle) in the index; `of_tails` of (tail, middle).
    """

    owners: npt.NDArray[np.int64]
    middles: npt.NDArray[np.int64]
    of_heads: npt.NDArray[np.int64]
    of_tails: npt.NDArray[np.int64]

    def take(self, places: IntArray | npt.NDArray[np.bool_]) -> "CommonNeighbors":
        """Return some of them: those at these places, or where a mask is true."""
        return CommonNeighbors(self.owners[places], self.middles[places], self.of_heads[places], self.of_tails[places])


class PairIndex:
    """Every pair of neighbors once, in both directions, with the relations of the edges between them.

    A relation is hidden for a pair as if its triples, and so their inverses, were not in the graph.

    Attributes:
        graph: whose edges these are.
        rows: shape (num_entities + 1,), where the distinct neighbors of each entity start and end.
        middles: shape (num_pairs,), the neighbor, in order within a row.
        edges: shape (num_pairs + 1,), where the relations of each pair start and end.
        relations: shape (num_edges,), of both directions, by pair and then in file order.
        sole_relations: shape (num_pairs,), the one relation, whatever its direction, that joins the pair, or `SEVERAL`.
    """

    def __init__(self, graph: KnowledgeGraph, pair: tuple[int, int] | None = None) -> None:
        """Sort the edges by the pairs that they join.

        Args:
            graph: the edges.
            pair: the one pair that will be asked about, in either direction: no other edges are sorted, and `rows` has
                a row for each of the two alone.
        """
        self.graph = graph
        self._entities = None if pair is None else np.unique(pair)
        if self._entities is None:
            columns = graph.index("pairs", pair_blocks)
        else:
            columns = join_pairs(graph, *_edges_of(graph, self._entities), num_rows=len(self._entities))
        self.rows: npt.NDArray[np.int64] = columns["rows"]
        self.middles: npt.NDArray[np.int32] = columns["middles"]
        self.edges: npt.NDArray[np.int64] = columns["edges"]
        self.relations: npt.NDArray[np.int32] = columns["relations"]
        self.sole_relations: npt.NDArray[np.int32] = columns["sole_relations"]

    def links(
        self, heads: IntArray, tails: IntArray, hidden: HiddenEdges = HiddenEdges.none()
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the edges between the members of each pair.

        Returns:
            owners: which pair each edge belongs to.
            relations: of the edge as it leaves the head.
        """
        rows = self._find(heads, tails)
        found = np.flatnonzero(rows >= 0)
        positions, places = arrays.expand(self.edges, rows[found])
        relations = self.relations[positions].astype(np.int64)
        owners = found[places]
        seen = self.graph.base(relations) != hidden.relations_of(owners)
        return owners[seen], relations[seen]

    def neighbors(
        self, entities: IntArray, hidden: HiddenEdges = HiddenEdges.none()
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the neighbors of entities, each once.

        Returns:
            owners: which of the entities each is next to.
            middles: the neighbor.
        """
        rows, owners = arrays.expand(self.rows, self._row_of(entities))
        seen = self.sole_relations[rows] != hidden.relations_of(owners)
        return owners[seen], self.middles[rows[seen]].astype(np.int64)

    def common(self, heads: IntArray, tails: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> CommonNeighbors:
        """Return the entities that are next to both members of each pair, without the two themselves."""
        heads, tails = np.asarray(heads, dtype=np.int64), np.asarray(tails, dtype=np.int64)
        of_heads, of_tails = (self.rows[rows + 1] - self.rows[rows] for rows in map(self._row_of, (heads, tails)))
        is_turned = of_heads > of_tails
        fewer, more = np.where(is_turned, tails, heads), np.where(is_turned, heads, tails)
        near, owners = arrays.expand(self.rows, self._row_of(fewer))
        middles = self.middles[near].astype(np.int64)
        far = self._find(more[owners], middles)
        kept = (far >= 0) & (middles != heads[owners]) & (middles != tails[owners])
        unseen = hidden.relations_of(owners)
        kept &= (self.sole_relations[near] != unseen) & (self.sole_relations[far] != unseen)
        owners, middles, near, far = (column[kept] for column in (owners, middles, near, far))
        turned = is_turned[owners]
        return CommonNeighbors(owners, middles, np.where(turned, far, near), np.where(turned, near, far))

    def paths(
        self, common: CommonNeighbors, hidden: HiddenEdges = HiddenEdges.none()
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Spell out the paths of two steps through common neighbors, one for each pair of parallel edges.

        Returns:
            owners: which pair each path joins.
            first: relation of the step that leaves the head.
            second: relation of the step that arrives at the tail.
        """
        starts, ends = self.edges[common.of_heads], self.edges[common.of_tails]
        widths = self.edges[common.of_tails + 1] - ends
        lengths = (self.edges[common.of_heads + 1] - starts) * widths
        places = np.repeat(np.arange(len(lengths)), lengths)
        turns = np.arange(len(places)) - (np.cumsum(lengths) - lengths)[places]
        first = self.relations[starts[places] + turns // widths[places]].astype(np.int64)
        back = self.relations[ends[places] + turns % widths[places]].astype(np.int64)
        unseen = hidden.relations_of(common.owners[places])
        seen = (self.graph.base(first) != unseen) & (self.graph.base(back) != unseen)
        return common.owners[places[seen]], first[seen], self.graph.inverse(back)[seen]

    def first_relations(self, rows: IntArray, hidden: HiddenEdges = HiddenEdges.none()) -> npt.NDArray[np.int64]:
        """Return the first relation that joins the pair of each row, -1 if all are hidden."""
        positions, owners = arrays.expand(self.edges, np.asarray(rows, dtype=np.int64))
        relations = self.relations[positions].astype(np.int64)
        seen = self.graph.base(relations) != hidden.relations_of(owners)
        found, first = np.unique(owners[seen], return_index=True)
        result = np.full(len(rows), NO_RELATION)
        result[found] = relations[seen][first]
        return result

    def _row_of(self, entities: IntArray) -> npt.NDArray[np.int64]:
        """Return where the neighbors of entities stand."""
        entities = np.asarray(entities, dtype=np.int64)
        return entities if self._entities is None else np.searchsorted(self._entities, entities)

    def _find(self, first: IntArray, second: IntArray) -> npt.NDArray[np.int64]:
        """Return the row of each pair, -1 where nothing joins the two."""
        return arrays.find_in_rows(self.rows, self.middles, self._row_of(first), second)


@dataclass(frozen=True)
class Connection:
    """A link, or a path of two or more steps, from a head to a tail.

    Attributes:
        relations: the relation of each step as an edge that leaves the step's first entity; it may be an inverse.
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
    index = PairIndex(graph, pair=(head, tail))
    _, links = index.links(np.array([head]), np.array([tail]))
    connections = [Connection((relation,), (head, tail)) for relation in sorted(set(links.tolist()))]
    common = index.common(np.array([head]), np.array([tail]))
    if len(common.middles):
        rarest = common.take(np.lexsort([common.middles, graph.degrees[common.middles]])[:limit])
        places, first, second = index.paths(replace(rarest, owners=np.arange(len(rarest.owners))))
        steps = sorted(set(zip(places.tolist(), first.tolist(), graph.inverse(second).tolist(), strict=True)))
        middles = rarest.middles.tolist()
        connections += [
            Connection((out, graph.inverse(back)), (head, middles[place], tail)) for place, out, back in steps[:limit]
        ]
    return tuple(connections[:limit])


def _edges_of(
    graph: KnowledgeGraph, entities: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], IntArray, IntArray]:
    """Return the edges of one entity or two, by their places; of a hub only those that lead where the other's do."""
    edges = [graph.adjacency.edges(entity) for entity in entities.tolist()]
    if len(edges) > 1:
        fewer, more = sorted(range(2), key=lambda place: len(edges[place][1]))
        near = np.sort(np.append(edges[fewer][1], entities[fewer]))
        _, is_near = arrays.lookup(near, edges[more][1])
        edges[more] = edges[more][0][is_near], edges[more][1][is_near]
    places = np.repeat(np.arange(len(edges)), [len(others) for _, others in edges])
    return places, np.concatenate([one for one, _ in edges]), np.concatenate([others for _, others in edges])
