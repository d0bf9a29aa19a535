"""RSCL in two halves: the contexts of head and tail are read apart and put together at the end.

The paper names cheaper encoders as future work (section VI). A candidate's half does not depend on the query: it is
computed once, and then a query costs one half of its own and a dot product with each candidate.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.caching import EntityCache, in_batches
from tripleshot.methods.protocol import Attention
from tripleshot.methods.rscl.attention import attend
from tripleshot.methods.rscl.contexts import ContextExtractor, TokenBatch
from tripleshot.methods.rscl.network import RSCL, DirectLayout, Representation
from tripleshot.methods.rscl.reader import ContextReader, EpisodeScores
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.rscl.tokens import RELATION


@dataclass(frozen=True, eq=False, kw_only=True)
class HalfBatch(TokenBatch):
    """One side of contexts: the relation, the entity, then the entity's pairs, from the nearest outwards.

    The length is 2p + 2, with [PAD] at the end; positions are those that the tokens have in whole contexts.

    Attributes:
        num_direct: shape (n,), how many pairs are direct.
    """

    num_direct: Tensor

    @classmethod
    def of(
        cls,
        extractor: ContextExtractor,
        entities: IntArray,
        is_tail: bool,
        device: torch.device,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> "HalfBatch":
        """Read the contexts of heads without tails, or of tails without heads."""
        p, entities = extractor.max_neighbors, np.asarray(entities, dtype=np.int64)
        found = extractor.neighbors(entities, rng, hidden)
        whole = extractor.join(entities, entities, RELATION, found, found)
        of_head = np.concatenate([[2 * p + 1, 2 * p], np.arange(2 * p)[::-1]])
        slots = np.arange(2 * p + 1, 4 * p + 3) if is_tail else of_head
        arrays = (whole.tokens[:, slots], extractor.positions(whole)[:, slots], found.num_direct)
        tokens, positions, num_direct = (torch.tensor(np.ascontiguousarray(array), device=device) for array in arrays)
        return cls(tokens=tokens, positions=positions, num_direct=num_direct)

    @classmethod
    def joined(cls, *batches: "HalfBatch") -> "HalfBatch":
        """Put batches one behind the other."""
        return cls(
            tokens=torch.cat([batch.tokens for batch in batches]),
            positions=torch.cat([batch.positions for batch in batches]),
            num_direct=torch.cat([batch.num_direct for batch in batches]),
        )


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

    def encode_halves(self, batch: HalfBatch) -> Halves:
        """Encode one side of triples."""
        states, layout = self.half_states(batch)
        relation, entity = states[layout.triples].unbind(1)
        globally = (relation / 2 + entity) / 3
        if self.local_encoder is None:
            return Halves(globally, globally[:, :0])
        return Halves(globally, self.local_encoder.sides(states, layout, entity, self.local_encoder.relate(relation)))

    def half_states(self, batch: HalfBatch) -> tuple[Tensor, DirectLayout]:
        """Return the states of relation, entity and direct neighbors, packed, and where they stand."""
        slots = torch.arange(batch.tokens.shape[1], device=batch.tokens.device)
        states = self.states(batch, slots < 2 + 2 * batch.num_direct[:, None])
        return states, DirectLayout.of_halves(batch.num_direct, batch.tokens.shape[1] // 2 - 1)

    def join(self, heads: Halves, tails: Halves) -> Representation:
        """Put heads and tails together; one head may serve all tails."""
        globally = heads.globally + tails.globally
        if self.local_encoder is None:
            return Representation(globally, globally[:, :0])
        both = torch.cat([heads.locally.expand(len(tails.globally), -1), tails.locally], dim=1)
        return Representation(globally, self.local_encoder.norm(both))


class HalfReader(ContextReader[FactorisedRSCL]):
    """Reads heads and tails apart; each candidate is read once, and kept for all questions."""

    def __init__(
        self, module: FactorisedRSCL, extractor: ContextExtractor, settings: RSCLSettings, device: torch.device
    ) -> None:
        """Keep no tail yet."""
        super().__init__(module, extractor, settings, device)
        self._tails = EntityCache(extractor.tokens.num_entities, self._encode_tails)

    def clear_cache(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        super().clear_cache()
        self._tails.clear()

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails whose halves are computed when they are first asked for."""
        examples = self.encode_support(support)
        of_head = self._encode_side(np.array([head]), is_tail=False)
        of_tails = Halves(*self._tails.get(tails).tensor_split([self.settings.width], dim=1))
        return self.module.score(self.module.join(of_head, of_tails), examples).cpu().numpy()

    def _encode(self, support: IntArray) -> Representation:
        heads, tails = (self._encode_side(support[:, side], is_tail=side == 1) for side in (0, 1))
        return self.module.join(heads, tails)

    def _encode_side(self, entities: IntArray, is_tail: bool) -> Halves:
        return self.module.encode_halves(HalfBatch.of(self.extractor, entities, is_tail, self.device))

    def _encode_tails(self, tails: IntArray) -> Tensor:
        """Encode tails, a bounded number at a time: shape (n, 2d), or (n, d) without a local encoder."""
        parts = [self._encode_side(some, is_tail=True) for some in in_batches(tails, self.settings.batch_contexts)]
        return torch.cat([torch.cat([part.globally, part.locally], dim=1) for part in parts])

    @torch.inference_mode()
    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail; no map shows a context that is never read as a whole."""
        module, pair = self.module, (np.array([head]), np.array([tail]))
        halves = (HalfBatch.of(self.extractor, pair[side], side == 1, self.device) for side in (0, 1))
        both = HalfBatch.joined(*halves)
        encoded = module.encode_halves(both)
        query = module.join(*(encoded.rows(torch.tensor([side], device=self.device)) for side in (0, 1)))
        weights = None
        if module.local_encoder is not None:
            _, weights = module.local_encoder.neighbors(*module.half_states(both))
        return attend(module, query, self.encode_support(support), self.extractor.sides(*pair), weights)

    def read(self, episodes: list[Episode], rng: np.random.Generator) -> EpisodeScores:
        """Score the true and the wrong tails of episodes; a head is read once for all its tails."""
        num_episodes = len(episodes)
        support = np.stack([episode.support for episode in episodes])  # (relations, K, 2)
        queries = np.stack([episode.queries for episode in episodes])  # (relations, B, 2)
        negatives = np.stack([episode.negatives for episode in episodes])  # (relations, B, n)
        candidates = np.concatenate([queries[..., 1:], negatives], axis=2)  # (relations, B, 1 + n)
        heads = np.concatenate([support[..., 0], queries[..., 0]], axis=1)  # (relations, K + B)
        tails = np.concatenate([support[..., 1], candidates.reshape(num_episodes, -1)], axis=1)
        both = (self._draw(side, is_tail, episodes, rng) for side, is_tail in ((heads, False), (tails, True)))
        encoded = self.module.encode_halves(HalfBatch.joined(*both))
        rows = torch.arange(heads.size + tails.size, device=self.device)
        of_heads, of_tails = rows[: heads.size].view(heads.shape), rows[heads.size :].view(tails.shape)
        shots, num_candidates = support.shape[1], candidates.shape[2]

        def join(first: Tensor, second: Tensor) -> Representation:
            halves = (encoded.rows(side.flatten()) for side in (first, second))
            return self.module.join(*halves).of_relations(num_episodes)

        examples = join(of_heads[:, :shots], of_tails[:, :shots])
        asked = join(of_heads[:, shots:].repeat_interleave(num_candidates, dim=1), of_tails[:, shots:])
        return EpisodeScores(self.module.score(asked, examples).unflatten(1, (-1, num_candidates)))

    def _draw(self, entities: IntArray, is_tail: bool, episodes: list[Episode], rng: np.random.Generator) -> HalfBatch:
        """Draw the halves of entities, shape (relations, n), without what their episodes hide."""
        owners = np.repeat(np.arange(len(episodes)), entities.shape[1])
        hidden = HiddenEdges.join([episode.hidden for episode in episodes], owners)
        return HalfBatch.of(self.extractor, entities.ravel(), is_tail, self.device, rng, hidden)
