"""What RSCL does with contexts: it reads those of candidates to score them, and those of episodes to learn."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.caching import SupportCache, in_batches
from tripleshot.methods.protocol import Attention
from tripleshot.methods.rscl.attention import attend
from tripleshot.methods.rscl.context_batches import Batch
from tripleshot.methods.rscl.contexts import NUM_SPECIAL, RELATION, ContextExtractor, Contexts
from tripleshot.methods.rscl.masking import mask, masking_loss
from tripleshot.methods.rscl.network import RSCL, Representation
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.trainable import Losses

FEWEST_CONTEXTS = 32  # scored at once: fewer are not worth a thread


Network = TypeVar("Network", bound=RSCL)


class ContextReader(Generic[Network]):
    """Reads whole contexts, as the paper does: each candidate with the head that is asked about."""

    def __init__(
        self, module: Network, extractor: ContextExtractor, settings: RSCLSettings, device: torch.device
    ) -> None:
        """Share the network and the extractor with the method."""
        self.module, self.extractor, self.settings, self.device = module, extractor, settings, device
        untrained = torch.randn(settings.width, generator=torch.Generator().manual_seed(settings.seed))
        self.untrained = untrained.mul(settings.width**-0.5).to(device)
        self._encoded: SupportCache[Representation] = SupportCache()

    def forget(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        self._encoded.clear()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score a bounded number of contexts at a time; those of the support are encoded only once."""
        encoded_support = self.encode_support(support)

        @torch.inference_mode()
        def score_some(some: IntArray) -> FloatArray:
            encoded = self.module(self._asking(self.extractor.extract(np.array([head]), some), support))
            return self.module.score(encoded, encoded_support).cpu().numpy()

        share = -(-len(tails) // torch.get_num_threads())  # few candidates: some for each thread
        size = min(self.settings.batch_contexts, max(share, FEWEST_CONTEXTS))
        scores = self._in_threads(score_some, list(in_batches(tails, size)))
        return np.concatenate([np.empty(0, dtype=np.float32), *scores])

    def _in_threads(self, work: Callable[[IntArray], FloatArray], parts: list[IntArray]) -> list[FloatArray]:
        """Work on each part in a thread of its own: on a CPU half again as fast as all threads on one part."""
        threads = torch.get_num_threads()
        if threads == 1 or len(parts) == 1 or self.device.type != "cpu":
            return [work(part) for part in parts]
        try:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                return list(pool.map(work, parts))
        finally:
            torch.set_num_threads(threads)

    @torch.inference_mode()
    def encode_support(self, support: IntArray) -> Representation:
        """Encode examples, once for all questions about them."""
        return self._encoded.get(support, lambda: self._encode(support))

    def _encode(self, support: IntArray) -> Representation:
        return self.module(self._asking(self.extractor.extract(support[:, 0], support[:, 1]), support))

    def _asking(self, contexts: Contexts, support: IntArray) -> Batch:
        """Make a batch of contexts that ask about a relation known by its examples alone."""
        batch = Batch.of(contexts, self.extractor, self.device)
        if self.settings.relation_token == "shared":
            return batch
        relation = self.untrained if self.settings.relation_token == "own" else self._difference(support)
        return replace(batch, relation=relation.expand(len(batch.tokens), -1))

    def _difference(self, support: IntArray) -> Tensor:
        """Return mean(t) - mean(h) over the examples' element embeddings, shape (..., d); queries play no part."""
        tokens = torch.from_numpy(self.extractor.tokens.entities(support)).to(self.device)
        embedded = self.module.elements(tokens)
        return embedded[..., 1, :].mean(-2) - embedded[..., 0, :].mean(-2)

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        pair = np.array([head]), np.array([tail])
        of_head, of_tail = self.extractor.sides(*pair)
        contexts = self.extractor.join(*pair, RELATION, of_head, of_tail)
        return attend(self.module, self._asking(contexts, support), self.encode_support(support), of_head, of_tail)

    def read(self, episodes: list[Episode], chance: np.random.Generator) -> tuple[Tensor, Losses]:
        """Score true and wrong tails: shape (relations, B, 1 + n), the true one first; mask true contexts, too."""
        settings, module, tokens = self.settings, self.module, self.extractor.tokens
        support = np.stack([episode.support for episode in episodes])  # (relations, K, 2)
        queries = np.stack([episode.queries for episode in episodes])  # (relations, B, 2)
        negatives = np.stack([episode.negatives for episode in episodes])  # (relations, B, n)
        repeated = np.broadcast_to(queries[:, :, :1], negatives.shape)
        heads = np.concatenate([support[..., 0].ravel(), queries[..., 0].ravel(), repeated.ravel()])
        tails = np.concatenate([support[..., 1].ravel(), queries[..., 1].ravel(), negatives.ravel()])
        parts = (support[..., 0], queries[..., 0], negatives)
        asked = np.concatenate([np.repeat(np.arange(len(episodes)), part[0].size) for part in parts])
        relation_tokens = self._relation_tokens(episodes)[asked]
        hidden = HiddenEdges.join([episode.hidden for episode in episodes], asked)
        contexts = self.extractor.extract(heads, tails, relation_tokens, chance, hidden)
        batch = Batch.of(contexts, self.extractor, self.device)
        if settings.relation_token == "difference":
            batch = replace(batch, relation=self._difference(support)[torch.from_numpy(asked).to(self.device)])
        encoded = module(batch)
        num_support, num_true = support[..., 0].size, support[..., 0].size + queries[..., 0].size
        of_support = encoded.rows(0, num_support).of_relations(len(episodes))
        positive = module.score(encoded.rows(num_support, num_true).of_relations(len(episodes)), of_support)
        negative = module.score(encoded.rows(num_true).of_relations(len(episodes)), of_support)
        negative = negative.unflatten(1, (-1, settings.num_negatives))
        losses: Losses = {}
        if settings.masking_weight:
            own = torch.from_numpy(self._own_tokens(episodes)[asked[:num_true]]).to(self.device)
            masked = mask(batch.rows(num_true), tokens, own, settings.masking_shares)
            losses["masking"] = settings.masking_weight * masking_loss(module, masked, tokens, settings.num_sampled)
        return torch.cat([positive[..., None], negative], -1), losses

    def _relation_tokens(self, episodes: list[Episode]) -> npt.NDArray[np.int64]:
        """Return what stands between head and tail in each episode's contexts."""
        return self._own_tokens(episodes) if self.settings.relation_token == "own" else np.full(len(episodes), RELATION)

    def _own_tokens(self, episodes: list[Episode]) -> npt.NDArray[np.int64]:
        """Return the token of each episode's relation: a train task's, or that of a relation of the graph."""
        first, own = self.extractor.tokens.first_task, [episode.hidden.relation for episode in episodes]
        return np.array([first + e.task if o is None else NUM_SPECIAL + o for e, o in zip(episodes, own, strict=True)])
