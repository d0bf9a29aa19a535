"""RSCL in two halves: what is around the head and what is around the tail are read apart, and put together at the end.

The paper names cheaper encoders as future work (section VI). A candidate's half does not depend on the query: it is
computed once, and then a query costs one half of its own and a dot product with each candidate.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import IntArray
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.rscl.contexts import RELATION, ContextExtractor
from tripleshot.methods.rscl.network import RSCL, NearLayout, Representation


@dataclass(frozen=True, eq=False)
class HalfBatch:
    """One side of contexts: the relation, the entity, then the entity's pairs, from the nearest outwards.

    Attributes:
        tokens: shape (n, 2p + 2), [PAD] at the end.
        positions: shape (n, 2p + 2), those that the tokens have in whole contexts.
        num_direct: shape (n,), how many pairs are direct.
    """

    tokens: Tensor
    positions: Tensor
    num_direct: Tensor
    relation: None = field(default=None, init=False)
    roles: None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        extractor: ContextExtractor,
        entities: IntArray,
        is_tail: bool,
        device: torch.device,
        chance: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> "HalfBatch":
        """Read the contexts of heads without tails, or of tails without heads."""
        p, entities = extractor.max_neighbors, np.asarray(entities, dtype=np.int64)
        found = extractor.neighbors(entities, chance, hidden)
        whole = extractor.join(entities, entities, RELATION, found, found)
        of_head = np.concatenate([[2 * p + 1, 2 * p], np.arange(2 * p)[::-1]])
        slots = np.arange(2 * p + 1, 4 * p + 3) if is_tail else of_head
        arrays = (whole.tokens[:, slots], extractor.positions(whole)[:, slots], found.num_direct)
        return cls(*(torch.tensor(np.ascontiguousarray(array), device=device) for array in arrays))

    @classmethod
    def joined(cls, *batches: "HalfBatch") -> "HalfBatch":
        """Put batches one behind the other."""
        columns = ("tokens", "positions", "num_direct")
        return cls(*(torch.cat([getattr(batch, name) for batch in batches]) for name in columns))


@dataclass(frozen=True, eq=False)
class Halves:
    """What the network makes of one side.

    Attributes:
        globally: shape (n, d), a share of G(h, r, t).
        locally: shape (n, d), a part of L(h, r, t) before its norm.
    """

    globally: Tensor
    locally: Tensor

    def rows(self, rows: Tensor) -> "Halves":
        """Return some of them."""
        return Halves(self.globally[rows], self.locally[rows])


class FactorisedRSCL(RSCL):
    """RSCL whose encoders see one side at a time."""

    def read(self, batch: HalfBatch) -> Halves:
        """Encode one side of triples."""
        states, layout = self.near(batch)
        relation, entity = states[layout.triples].unbind(1)
        globally = (relation / 2 + entity) / 3
        if self.local_encoder is None:
            return Halves(globally, globally[:, :0])
        return Halves(globally, self.local_encoder.sides(states, layout, entity, self.local_encoder.relate(relation)))

    def near(self, batch: HalfBatch) -> tuple[Tensor, NearLayout]:
        """Return the states of relation, entity and direct neighbors, packed, and where they stand."""
        slots = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
        states = self.states(batch, slots < 2 + 2 * batch.num_direct[:, None])
        return states, NearLayout.of_halves(batch.num_direct, batch.tokens.shape[1] // 2 - 1)

    def join(self, heads: Halves, tails: Halves) -> Representation:
        """Put heads and tails together; one head may serve all tails."""
        count = len(tails.globally)
        globally = heads.globally + tails.globally
        if self.local_encoder is None:
            return Representation(globally, globally[:, :0])
        both = torch.cat([heads.locally.expand(count, -1), tails.locally], dim=1)
        return Representation(globally, self.local_encoder.norm(both))
