"""The subgraph extractor: pairs of entities to graph contexts of fixed size (paper, section IV-A).

A context is a sequence of 4p + 3 tokens: entity-relation pairs that point to the head, then head, relation and tail,
then relation-entity pairs that leave the tail. Each side has at most p pairs: direct neighbors first, then up to q
distant ones, reached through a direct neighbor. Padding stands at the outer ends, so that head, relation and tail
always have the same slots.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.neighbors import NeighborOrder, NeighborSampler

PAD, MASK, RELATION = 0, 1, 2  # [PAD], [MASK], and the one token that stands for every few-shot relation
NUM_SPECIAL = 3
MIN_NEIGHBORS = 3  # the paper's positions begin at 2p - 4


@dataclass(frozen=True)
class Tokens:
    """One number for everything that can stand in a context.

    Special tokens come first, then the relations and their inverses, then the few-shot relations, then the entities.
    """

    num_relations: int
    num_tasks: int
    num_entities: int

    @property
    def first_task(self) -> int:
        """The token of the first few-shot relation."""
        return NUM_SPECIAL + 2 * self.num_relations

    @property
    def first_entity(self) -> int:
        """The token of entity 0."""
        return self.first_task + self.num_tasks

    def __len__(self) -> int:
        return self.first_entity + self.num_entities

    def relations(self, ids: IntArray) -> npt.NDArray[np.int64]:
        """Return the tokens of relations, inverses past `num_relations`."""
        return np.asarray(ids, dtype=np.int64) + NUM_SPECIAL

    def entities(self, ids: IntArray) -> npt.NDArray[np.int64]:
        """Return the tokens of entities."""
        return np.asarray(ids, dtype=np.int64) + self.first_entity


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Pairs around a batch of entities, as edges that leave them; at most p each.

    Attributes:
        relations: shape (n, p), relation ids, -1 where there is no pair.
        entities: shape (n, p), the entity at the other end.
        num_direct: shape (n,), how many of the first pairs are direct; distant ones follow.
        num_pairs: shape (n,), how many pairs there are in all.
        roles: shape (n, p), what the other end is to the opposite entity; None where contexts know no roles.
    """

    relations: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int64]
    num_direct: npt.NDArray[np.int64]
    num_pairs: npt.NDArray[np.int64]
    roles: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Contexts:
    """Graph contexts of a batch of pairs.

    Attributes:
        tokens: shape (n, 4p + 3), [PAD] at the outer ends.
        direct_heads: shape (n,), number of direct pairs of the head; `direct_tails` of the tail.
        roles: shape (n, 4p + 3), of the pairs' tokens; None where contexts know no roles.
    """

    tokens: npt.NDArray[np.int64]
    direct_heads: npt.NDArray[np.int64]
    direct_tails: npt.NDArray[np.int64]
    roles: npt.NDArray[np.int64] | None = None


class ContextExtractor:
    """Draws contexts from a background graph, for whole batches at once."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        tokens: Tokens,
        max_neighbors: int = 8,  # p
        max_distant: int = 5,  # q
        order: NeighborOrder = "file",
    ) -> None:
        """Choose how many neighbors a context shows, and which ones when none is drawn at random."""
        if max_neighbors < MIN_NEIGHBORS:
            raise InputError(f"max_neighbors must be {MIN_NEIGHBORS} or more: the paper's positions begin at 2p - 4")
        self.graph = graph
        self.tokens = tokens
        self.max_neighbors = max_neighbors
        self.max_distant = max_distant
        self.sampler = NeighborSampler(graph, order)

    def extract(
        self,
        heads: IntArray,
        tails: IntArray,
        relation_tokens: IntArray | int = RELATION,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> Contexts:
        """Return the contexts of (head, relation, tail) triples.

        Args:
            heads: shape (n,), entity ids.
            tails: shape (n,), entity ids.
            relation_tokens: what stands between them.
            rng: chooses neighbors at random, as in training; None takes the first ones, as in validation and test.
            hidden: edges that must not be seen: the target edge, or all edges of the target relation.
        """
        return self.join(heads, tails, relation_tokens, *self.sides(heads, tails, rng, hidden))

    def sides(
        self,
        heads: IntArray,
        tails: IntArray,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> tuple[Neighbors, Neighbors]:
        """Return what stands around the heads and around the tails; one head may be asked about with many tails."""
        of_tails = hidden if hidden.others is None else replace(hidden, others=np.asarray(heads, dtype=np.int64))
        return self.neighbors(heads, rng, hidden), self.neighbors(tails, rng, of_tails)

    def join(
        self,
        heads: IntArray,
        tails: IntArray,
        relation_tokens: IntArray | int,
        of_heads: Neighbors,
        of_tails: Neighbors,
    ) -> Contexts:
        """Put the two sides together; a side of one row serves the whole batch."""
        p = self.max_neighbors
        tokens = np.full((max(len(heads), len(tails)), 4 * p + 3), PAD, dtype=np.int64)
        inverted = self.graph.inverse(of_heads.relations)
        tokens[:, 0 : 2 * p : 2] = self._entity_tokens(of_heads)[:, ::-1]
        tokens[:, 1 : 2 * p : 2] = np.where(of_heads.relations < 0, PAD, inverted + NUM_SPECIAL)[:, ::-1]
        tokens[:, 2 * p] = self.tokens.entities(heads)
        tokens[:, 2 * p + 1] = relation_tokens
        tokens[:, 2 * p + 2] = self.tokens.entities(tails)
        tokens[:, 2 * p + 3 :: 2] = np.where(of_tails.relations < 0, PAD, of_tails.relations + NUM_SPECIAL)
        tokens[:, 2 * p + 4 :: 2] = self._entity_tokens(of_tails)
        counts = (np.broadcast_to(side.num_direct, len(tokens)) for side in (of_heads, of_tails))
        return Contexts(tokens, *counts)

    def neighbors(
        self, entities: IntArray, rng: np.random.Generator | None = None, hidden: HiddenEdges = HiddenEdges.none()
    ) -> Neighbors:
        """Return up to p pairs of each entity: direct ones, then up to q distant ones where there is room."""
        p = self.max_neighbors
        entities = np.asarray(entities, dtype=np.int64)
        direct = self.sampler.sample(entities, p, rng, hidden)
        relations, others, num_pairs = direct.relations, direct.entities, direct.counts.copy()
        poor = np.flatnonzero((direct.counts < p) & (direct.counts > 0))
        if self.max_distant and len(poor):
            room = np.minimum(self.max_distant, p - direct.counts[poor])
            hidden_here = HiddenEdges(hidden.relations).take(poor)
            far_relations, far_entities, found = self._distant(entities[poor], others[poor], room, rng, hidden_here)
            row, column = np.nonzero(np.arange(self.max_distant) < found[:, None])
            place = direct.counts[poor][row] + column
            relations[poor[row], place] = far_relations[row, column]
            others[poor[row], place] = far_entities[row, column]
            num_pairs[poor] += found
        return Neighbors(relations, others, direct.counts, num_pairs)

    def _distant(
        self,
        centers: npt.NDArray[np.int64],
        middles: npt.NDArray[np.int64],
        room: npt.NDArray[np.int64],
        rng: np.random.Generator | None,
        hidden: HiddenEdges,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Choose second-order pairs, a few from each distinct direct neighbor, so that no hub floods the choice.

        Without `rng` they are taken in turns: the first edge of each neighbor, then the second of each, and so on.
        """
        rows, p = middles.shape
        each = self.max_distant + 1  # one may lead back
        repeated = (middles[:, :, None] == middles[:, None, :]) & np.tri(p, k=-1, dtype=bool)
        usable = (middles >= 0) & (middles != centers[:, None]) & ~repeated.any(axis=2)
        relations, ends, there = self.sampler.draw(np.where(usable, middles, 0).ravel(), each, rng)
        relations, ends = relations.reshape(rows, p * each), ends.reshape(rows, p * each)
        there = there.reshape(rows, p, each) & usable[:, :, None]
        there = there.reshape(rows, p * each) & (ends != centers[:, None])
        there &= ~hidden.hides(self.graph.base(relations), ends)
        turns = np.arange(each)[None, :] * p + np.arange(p)[:, None]
        keys = np.broadcast_to(turns.ravel() / turns.size, there.shape) if rng is None else rng.random(there.shape)
        chosen = np.argsort(np.where(there, keys, 2.0), axis=1, kind="stable")[:, : self.max_distant]
        found = np.minimum(there.sum(axis=1), room)
        return np.take_along_axis(relations, chosen, axis=1), np.take_along_axis(ends, chosen, axis=1), found

    def _entity_tokens(self, side: Neighbors) -> npt.NDArray[np.int64]:
        return np.where(side.entities < 0, PAD, side.entities + self.tokens.first_entity)

    def positions(self, contexts: Contexts) -> npt.NDArray[np.int64]:
        """Return the position index of each token as the paper's figure draws them; 0 for [PAD].

        With k = 1 for direct and 2 for distant pairs: 2p - 2k and 2p - 2k + 1 on the head's side, 2p, 2p + 1 and
        2p + 2 for head, relation and tail, 2p + 2k + 1 and 2p + 2k + 2 on the tail's side.
        """
        p = self.max_neighbors
        positions = np.zeros_like(contexts.tokens)
        pair = np.arange(p)
        head_hops = np.where(pair < contexts.direct_heads[:, None], 1, 2)[:, ::-1]
        tail_hops = np.where(pair < contexts.direct_tails[:, None], 1, 2)
        positions[:, 0 : 2 * p : 2] = 2 * p - 2 * head_hops
        positions[:, 1 : 2 * p : 2] = 2 * p - 2 * head_hops + 1
        positions[:, 2 * p : 2 * p + 3] = [2 * p, 2 * p + 1, 2 * p + 2]
        positions[:, 2 * p + 3 :: 2] = 2 * p + 2 * tail_hops + 1
        positions[:, 2 * p + 4 :: 2] = 2 * p + 2 * tail_hops + 2
        return np.where(contexts.tokens == PAD, 0, positions)
