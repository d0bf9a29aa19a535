"""Contexts that begin with what joins head and tail: edges between the two, then neighbors that they share.

The paper's contexts take the neighbors of each side as if the other were not there; of an entity with many edges the
one that leads to the other side is seldom among the p that are shown.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.neighbors import NeighborOrder
from tripleshot.graph.paths import PairIndex
from tripleshot.methods.rscl.contexts import ContextExtractor, Contexts, Neighbors
from tripleshot.methods.rscl.tokens import Tokens

NO_ROLE, OPPOSITE, SHARED = 0, 1, 2
NUM_ROLES = 3


@dataclass(frozen=True, eq=False)
class JoiningEdges:
    """Edges that join a batch of pairs, seen from one side; the shapes are (n, c).

    Attributes:
        relations: of the edge as it leaves that side's entity, -1 where there is none.
        entities: the other end of the edge.
        roles: `OPPOSITE` or `SHARED`.
    """

    relations: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int64]
    roles: npt.NDArray[np.int64]


class ConnectedExtractor(ContextExtractor):
    """Draws contexts in which half of each side is kept for what leads to the other."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        tokens: Tokens,
        max_neighbors: int = 8,
        max_distant: int = 5,
        order: NeighborOrder = "file",
    ) -> None:
        """Index the pairs of neighbors, too."""
        super().__init__(graph, tokens, max_neighbors, max_distant, order)
        self._index = PairIndex(graph)

    def sides(
        self,
        heads: IntArray,
        tails: IntArray,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> tuple[Neighbors, Neighbors]:
        """Return both sides, what joins them first.

        Where one edge of each pair is hidden, as in pre-training, nothing that joins a pair is put first: the contexts
        would tell by what is missing.
        """
        of_heads, of_tails = super().sides(heads, tails, rng, hidden)
        if hidden.others is not None:
            return _without_roles(of_heads), _without_roles(of_tails)
        heads, tails = (np.asarray(side, dtype=np.int64) for side in np.broadcast_arrays(heads, tails))
        from_heads, from_tails = self._joining(heads, tails, hidden)
        return self._put_first(from_heads, of_heads), self._put_first(from_tails, of_tails)

    def join(
        self,
        heads: IntArray,
        tails: IntArray,
        relation_tokens: IntArray | int,
        of_heads: Neighbors,
        of_tails: Neighbors,
    ) -> Contexts:
        """Put the two sides together; both tokens of a pair have its role."""
        contexts, p = super().join(heads, tails, relation_tokens, of_heads, of_tails), self.max_neighbors
        roles = np.full_like(contexts.tokens, NO_ROLE)
        if of_heads.roles is not None and of_tails.roles is not None:
            roles[:, : 2 * p] = np.repeat(of_heads.roles[:, ::-1], 2, axis=1)
            roles[:, 2 * p + 3 :] = np.repeat(of_tails.roles, 2, axis=1)
        return replace(contexts, roles=roles)

    def _joining(
        self, heads: npt.NDArray[np.int64], tails: npt.NDArray[np.int64], hidden: HiddenEdges
    ) -> tuple[JoiningEdges, JoiningEdges]:
        """Find links, and shared neighbors with the fewest edges first, as many as there is room for."""
        room = self.max_neighbors // 2
        linked, links = self._index.links(heads, tails, hidden)
        common = self._index.common(heads, tails, hidden)
        owners = np.concatenate([linked, common.owners])
        roles = np.repeat([OPPOSITE, SHARED], [len(linked), len(common.owners)])
        order = np.lexsort([np.concatenate([links, self.graph.degrees[common.middles]]), roles, owners])
        owners = owners[order]
        columns = np.arange(len(owners)) - np.searchsorted(owners, owners)
        order, owners, columns = (part[columns < room] for part in (order, owners, columns))

        def lay_out(relations: npt.NDArray[np.int64], entities: npt.NDArray[np.int64]) -> JoiningEdges:
            shape = (len(heads), room)
            joining = JoiningEdges(np.full(shape, -1), np.full(shape, -1), np.zeros(shape, dtype=np.int64))
            for table, values in zip(
                (joining.relations, joining.entities, joining.roles), (relations, entities, roles), strict=True
            ):
                table[owners, columns] = values[order]
            return joining

        unseen = hidden.take(common.owners)
        to_middles, from_middles = (
            self._index.first_relations(rows, unseen) for rows in (common.of_heads, common.of_tails)
        )
        back = self.graph.inverse(links)
        return (
            lay_out(np.concatenate([links, to_middles]), np.concatenate([tails[linked], common.middles])),
            lay_out(np.concatenate([back, from_middles]), np.concatenate([heads[linked], common.middles])),
        )

    def _put_first(self, joining: JoiningEdges, side: Neighbors) -> Neighbors:
        """Put what joins before the other pairs of a side, without what it repeats."""
        p, count = self.max_neighbors, len(joining.relations)
        relations, entities = (np.broadcast_to(table, (count, p)) for table in (side.relations, side.entities))
        num_direct, num_pairs = (
            np.broadcast_to(number, count)[:, None] for number in (side.num_direct, side.num_pairs)
        )
        repeated = (relations[:, :, None] == joining.relations[:, None, :]) & (
            entities[:, :, None] == joining.entities[:, None, :]
        )
        places = np.arange(p)
        is_there = (places < num_pairs) & ~repeated.any(axis=2)
        is_direct = np.concatenate([joining.relations >= 0, is_there & (places < num_direct)], axis=1)
        is_distant = np.concatenate(
            [np.zeros_like(joining.relations, dtype=bool), is_there & (places >= num_direct)], axis=1
        )
        kept = np.argsort(np.where(is_direct, 0, np.where(is_distant, 1, 2)), axis=1, kind="stable")[:, :p]

        def choose(first: npt.NDArray[np.int64], then: npt.NDArray[np.int64], empty: int) -> npt.NDArray[np.int64]:
            chosen = np.take_along_axis(np.concatenate([first, then], axis=1), kept, axis=1)
            return np.where(places < total[:, None], chosen, empty)

        direct = np.minimum(is_direct.sum(axis=1), p)
        total = np.minimum(direct + is_distant.sum(axis=1), p)
        return Neighbors(
            choose(joining.relations, relations, -1),
            choose(joining.entities, entities, -1),
            direct,
            total,
            choose(joining.roles, np.zeros_like(relations), NO_ROLE),
        )


def _without_roles(side: Neighbors) -> Neighbors:
    return replace(side, roles=np.full_like(side.entities, NO_ROLE))
