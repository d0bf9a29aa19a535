"""The subgraph extractor: pairs of entities to graph contexts of fixed size, as the network reads them (section IV-A).

A context is a sequence of 4p + 3 tokens: entity-relation pairs that point to the head, then head, relation and tail,
then relation-entity pairs that leave the tail. Each side has at most p pairs: direct neighbors first, then up to q
distant ones, reached through a direct neighbor. Padding stands at the outer ends, so that head, relation and tail
always have the same slots.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.arrays import IntArray
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.neighbors import NeighborOrder, NeighborSampler
from tripleshot.methods.rscl.settings import MIN_NEIGHBORS
from tripleshot.methods.rscl.tokens import NUM_SPECIAL, PAD, RELATION, Tokens


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
        self.order: NeighborOrder = order
        self.sampler = NeighborSampler(graph, order)

    def on(self, graph: KnowledgeGraph) -> Self:
        """Return an extractor of the same contexts from another graph of the same entities and relations."""
        return type(self)(graph, self.tokens, self.max_neighbors, self.max_distant, self.order)

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
        incoming = np.where(of_heads.relations < 0, PAD, self.graph.inverse(of_heads.relations) + NUM_SPECIAL)
        outgoing = np.where(of_tails.relations < 0, PAD, of_tails.relations + NUM_SPECIAL)
        tokens[:, 0 : 2 * p : 2] = self._entity_tokens(of_heads)[:, ::-1]
        tokens[:, 1 : 2 * p : 2] = incoming[:, ::-1]
        tokens[:, 2 * p] = self.tokens.entities(heads)
        tokens[:, 2 * p + 1] = relation_tokens
        tokens[:, 2 * p + 2] = self.tokens.entities(tails)
        tokens[:, 2 * p + 3 :: 2] = outgoing
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
        with_room = np.flatnonzero((direct.counts < p) & (direct.counts > 0))
        if self.max_distant and len(with_room):
            num_direct = direct.counts[with_room]
            distant_relations, distant_entities, num_found = self._distant(
                entities[with_room],
                others[with_room],
                np.minimum(self.max_distant, p - num_direct),
                rng,
                HiddenEdges(hidden.relations).take(with_room),
            )
            row, column = np.nonzero(np.arange(self.max_distant) < num_found[:, None])
            place = num_direct[row] + column
            relations[with_room[row], place] = distant_relations[row, column]
            others[with_room[row], place] = distant_entities[row, column]
            num_pairs[with_room] += num_found
        return Neighbors(relations, others, direct.counts, num_pairs)

    def _distant(
        self,
        centers: npt.NDArray[np.int64],
        middles: npt.NDArray[np.int64],
        room: npt.NDArray[np.int64],
        rng: np.random.Generator | None,
        hidden: HiddenEdges,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Choose distant pairs, a few from each distinct direct neighbor, so that no hub takes all places.

        Without `rng` they are taken in turns: the first edge of each neighbor, then the second of each, and so on.

        Args:
            centers: shape (n,), the entities whose distant pairs are wanted.
            middles: shape (n, p), their direct neighbors, -1 where there is none.
            room: shape (n,), how many pairs are wanted at most.
            rng: chooses them at random.
            hidden: relations that must not be seen.

        Returns:
            relations: shape (n, q), of the edge from a direct neighbor to the distant one.
            entities: shape (n, q), the distant neighbors.
            counts: shape (n,), how many of the first are wanted.
        """
        rows, p = middles.shape
        each = self.max_distant + 1  # one may lead back
        is_repeated = (middles[:, :, None] == middles[:, None, :]) & np.tri(p, k=-1, dtype=bool)
        is_middle = (middles >= 0) & (middles != centers[:, None]) & ~is_repeated.any(axis=2)
        relations, ends, is_edge = self.sampler.draw(np.where(is_middle, middles, 0).ravel(), each, rng)
        relations, ends = relations.reshape(rows, p * each), ends.reshape(rows, p * each)
        is_usable = (is_edge.reshape(rows, p, each) & is_middle[:, :, None]).reshape(rows, p * each)
        is_usable &= ends != centers[:, None]
        is_usable &= ~hidden.hides(self.graph.base(relations), ends)
        turns = np.arange(each)[None, :] * p + np.arange(p)[:, None]
        keys = (
            np.broadcast_to(turns.ravel() / turns.size, is_usable.shape) if rng is None else rng.random(is_usable.shape)
        )
        chosen = np.argsort(np.where(is_usable, keys, 2.0), axis=1, kind="stable")[:, : self.max_distant]
        counts = np.minimum(is_usable.sum(axis=1), room)
        return np.take_along_axis(relations, chosen, axis=1), np.take_along_axis(ends, chosen, axis=1), counts

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


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenBatch:
    """Sequences of tokens, all of one length, as the network reads them.

    Attributes:
        tokens: shape (n, length), [PAD] where there is nothing.
        positions: shape (n, length).
        relation: shape (n, d), what stands for the few-shot relation instead of its token's embedding, if anything.
        roles: shape (n, length), what neighbors are to the opposite entity; None where contexts know no roles.
    """

    tokens: Tensor
    positions: Tensor
    relation: Tensor | None = None
    roles: Tensor | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ContextBatch(TokenBatch):
    """Contexts as tensors; the length is 4p + 3.

    Attributes:
        direct_heads: shape (n,), number of direct pairs of the head; `direct_tails` of the tail.
        max_neighbors: p.
    """

    direct_heads: Tensor
    direct_tails: Tensor
    max_neighbors: int

    @classmethod
    def of(cls, contexts: Contexts, extractor: ContextExtractor, device: torch.device | str = "cpu") -> "ContextBatch":
        """Move contexts to a device."""
        return cls(
            tokens=torch.tensor(contexts.tokens, device=device),
            positions=torch.tensor(extractor.positions(contexts), device=device),
            roles=None if contexts.roles is None else torch.tensor(contexts.roles, device=device),
            direct_heads=torch.tensor(contexts.direct_heads, device=device),
            direct_tails=torch.tensor(contexts.direct_tails, device=device),
            max_neighbors=extractor.max_neighbors,
        )

    def first(self, count: int) -> "ContextBatch":
        """Return the first contexts only."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: values[:count] for name, values in columns.items() if isinstance(values, Tensor)})

    def relation_tokens(self) -> Tensor:
        """Return what stands between head and tail: shape (n,)."""
        return self.tokens[:, 2 * self.max_neighbors + 1]

    def is_direct(self) -> Tensor:
        """Tell which slots hold the triple itself or a direct neighbor: shape (n, 4p + 3)."""
        slots = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        center = 2 * self.max_neighbors
        first = center - 2 * self.direct_heads
        last = center + 3 + 2 * self.direct_tails
        return (slots >= first[:, None]) & (slots < last[:, None])

    def is_triple(self) -> Tensor:
        """Tell which slots hold the triple itself: shape (n, 4p + 3)."""
        slots = torch.arange(self.tokens.shape[1], device=self.tokens.device) - 2 * self.max_neighbors
        return ((slots >= 0) & (slots < 3)).expand(self.tokens.shape)
