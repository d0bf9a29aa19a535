"""What RSCL does with contexts in two halves: each candidate is read once, and kept for all questions."""

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.caching import EntityCache, in_batches
from tripleshot.methods.protocol import Attention
from tripleshot.methods.rscl.attention import attend_halves
from tripleshot.methods.rscl.context_reader import ContextReader
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.factorised import FactorisedRSCL, HalfBatch, Halves
from tripleshot.methods.rscl.network import Representation
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.trainable import Losses


class HalfReader(ContextReader[FactorisedRSCL]):
    """Reads heads and tails apart."""

    def __init__(
        self, module: FactorisedRSCL, extractor: ContextExtractor, settings: RSCLSettings, device: torch.device
    ) -> None:
        """Keep no tail yet."""
        super().__init__(module, extractor, settings, device)
        self._tails = EntityCache(extractor.tokens.num_entities, self._read_tails)

    def forget(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        super().forget()
        self._tails.clear()

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails whose halves are computed when they are first asked for."""
        examples = self.encode_support(support)
        of_head = self._read_side(np.array([head]), is_tail=False)
        of_tails = Halves(*self._tails.get(tails).tensor_split([self.settings.width], dim=1))
        return self.module.score(self.module.join(of_head, of_tails), examples).cpu().numpy()

    def _encode(self, support: IntArray) -> Representation:
        heads, tails = (self._read_side(support[:, side], is_tail=side == 1) for side in (0, 1))
        return self.module.join(heads, tails)

    def _read_side(self, entities: IntArray, is_tail: bool) -> Halves:
        return self.module.read(HalfBatch.of(self.extractor, entities, is_tail, self.device))

    def _read_tails(self, tails: IntArray) -> Tensor:
        """Encode tails, a bounded number at a time: shape (n, 2d), or (n, d) without a local encoder."""
        read = [self._read_side(some, is_tail=True) for some in in_batches(tails, self.settings.batch_contexts)]
        return torch.cat([torch.cat([part.globally, part.locally], dim=1) for part in read])

    @torch.inference_mode()
    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail; no map shows a context that is never read as a whole."""
        pair = np.array([head]), np.array([tail])
        of_head, of_tail = self.extractor.sides(*pair)
        halves = (HalfBatch.of(self.extractor, pair[side], side == 1, self.device) for side in (0, 1))
        return attend_halves(self.module, HalfBatch.joined(*halves), self.encode_support(support), of_head, of_tail)

    def read(self, episodes: list[Episode], chance: np.random.Generator) -> tuple[Tensor, Losses]:
        """Score true and wrong tails: shape (relations, B, 1 + n), the true one first; a head is read once for all."""
        count = len(episodes)
        support = np.stack([episode.support for episode in episodes])  # (relations, K, 2)
        queries = np.stack([episode.queries for episode in episodes])  # (relations, B, 2)
        negatives = np.stack([episode.negatives for episode in episodes])  # (relations, B, n)
        candidates = np.concatenate([queries[..., 1:], negatives], axis=2)  # (relations, B, 1 + n)
        heads = np.concatenate([support[..., 0], queries[..., 0]], axis=1)  # (relations, K + B)
        tails = np.concatenate([support[..., 1], candidates.reshape(count, -1)], axis=1)
        both = (self._batch_of(side, is_tail, episodes, chance) for side, is_tail in ((heads, False), (tails, True)))
        read = self.module.read(HalfBatch.joined(*both))
        rows = torch.arange(heads.size + tails.size, device=self.device)
        of_heads, of_tails = rows[: heads.size].view(heads.shape), rows[heads.size :].view(tails.shape)
        shots, width = support.shape[1], candidates.shape[2]

        def join(first: Tensor, second: Tensor) -> Representation:
            return self.module.join(read.rows(first.flatten()), read.rows(second.flatten())).of_relations(count)

        examples = join(of_heads[:, :shots], of_tails[:, :shots])
        asked = join(of_heads[:, shots:].repeat_interleave(width, dim=1), of_tails[:, shots:])
        return self.module.score(asked, examples).unflatten(1, (-1, width)), {}

    def _batch_of(
        self, entities: IntArray, is_tail: bool, episodes: list[Episode], chance: np.random.Generator
    ) -> HalfBatch:
        """Draw the halves of entities, shape (relations, n), without what their episodes hide."""
        hidden = HiddenEdges.join(
            [episode.hidden for episode in episodes], np.repeat(np.arange(len(episodes)), entities.shape[1])
        )
        return HalfBatch.of(self.extractor, entities.ravel(), is_tail, self.device, chance, hidden)
