"""How RSCL reads contexts: those of candidates to score them, those of episodes to learn from them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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
from tripleshot.methods.rscl.attention import attend, attention_layers
from tripleshot.methods.rscl.contexts import ContextBatch, ContextExtractor, Contexts
from tripleshot.methods.rscl.network import RSCL, Representation
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.rscl.tokens import NUM_SPECIAL, RELATION

MIN_CONTEXTS = 32  # scored at once: fewer are not worth a thread

Network = TypeVar("Network", bound=RSCL)


@dataclass(frozen=True, eq=False)
class EpisodeScores:
    """What a network makes of some episodes, each about a relation of its own.

    Attributes:
        scores: shape (relations, B, 1 + n), of the true tail of each query and of its wrong ones.
        true_contexts: of all examples and then of all queries; None where contexts are not read as a whole.
        relation_tokens: shape (len(true_contexts),), the tokens of their relations, whatever the contexts show.
    """

    scores: Tensor
    true_contexts: ContextBatch | None = None
    relation_tokens: Tensor | None = None


class ContextReader(Generic[Network]):
    """Reads whole contexts, as the paper does: each candidate together with the head that is asked about."""

    def __init__(
        self, module: Network, extractor: ContextExtractor, settings: RSCLSettings, device: torch.device
    ) -> None:
        """Share the network and the extractor with the method."""
        self.module, self.extractor, self.settings, self.device = module, extractor, settings, device
        untrained = torch.randn(settings.width, generator=torch.Generator().manual_seed(settings.seed))
        self.untrained_relation = untrained.mul(settings.width**-0.5).to(device)
        self._encoded: SupportCache[Representation] = SupportCache()

    def clear_cache(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        self._encoded.clear()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score a bounded number of contexts at a time; those of the support are encoded only once."""
        examples = self.encode_support(support)

        @torch.inference_mode()
        def score_some(some: IntArray) -> FloatArray:
            encoded = self.module(self.batch_of(self.extractor.extract(np.array([head]), some), support))
            return self.module.score(encoded, examples).cpu().numpy()

        per_thread = -(-len(tails) // torch.get_num_threads())
        size = min(self.settings.batch_contexts, max(per_thread, MIN_CONTEXTS))
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
        return self.module(self.batch_of(self.extractor.extract(support[:, 0], support[:, 1]), support))

    def batch_of(self, contexts: Contexts, support: IntArray) -> ContextBatch:
        """Return contexts of a relation that is known by its examples alone, as the network reads them."""
        batch = ContextBatch.of(contexts, self.extractor, self.device)
        if self.settings.relation_token == "shared":
            return batch
        is_own = self.settings.relation_token == "own"
        relation = self.untrained_relation if is_own else self._difference(support)
        return replace(batch, relation=relation.expand(len(batch.tokens), -1))

    def _difference(self, support: IntArray) -> Tensor:
        """Return mean(t) - mean(h) over the examples' element embeddings, shape (..., d); queries play no part."""
        tokens = torch.from_numpy(self.extractor.tokens.entities(support)).to(self.device)
        embedded = self.module.elements(tokens)
        return embedded[..., 1, :].mean(-2) - embedded[..., 0, :].mean(-2)

    @torch.inference_mode()
    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        module, pair = self.module, (np.array([head]), np.array([tail]))
        sides = self.extractor.sides(*pair)
        batch = self.batch_of(self.extractor.join(*pair, RELATION, *sides), support)
        weights = None
        if module.local_encoder is not None:
            _, weights = module.local_encoder.neighbors(*module.direct_states(batch))
        return attend(
            module, module(batch), self.encode_support(support), sides, weights, attention_layers(module, batch)
        )

    def read(self, episodes: list[Episode], rng: np.random.Generator) -> EpisodeScores:
        """Score the true and the wrong tails of episodes by contexts that are drawn at random."""
        module, num_episodes = self.module, len(episodes)
        support = np.stack([episode.support for episode in episodes])  # (relations, K, 2)
        queries = np.stack([episode.queries for episode in episodes])  # (relations, B, 2)
        negatives = np.stack([episode.negatives for episode in episodes])  # (relations, B, n)
        repeated = np.broadcast_to(queries[:, :, :1], negatives.shape)
        heads = np.concatenate([support[..., 0].ravel(), queries[..., 0].ravel(), repeated.ravel()])
        tails = np.concatenate([support[..., 1].ravel(), queries[..., 1].ravel(), negatives.ravel()])
        parts = (support[..., 0], queries[..., 0], negatives)
        owners = np.concatenate([np.repeat(np.arange(num_episodes), part[0].size) for part in parts])
        own_tokens = self._own_tokens(episodes)
        shown_tokens = own_tokens[owners] if self.settings.relation_token == "own" else RELATION
        hidden = HiddenEdges.join([episode.hidden for episode in episodes], owners)
        contexts = self.extractor.extract(heads, tails, shown_tokens, rng, hidden)
        if self.settings.swapped_heads:
            swapped = self._swap_heads(queries[..., 0], rng)
            repeated = np.broadcast_to(swapped[:, :, None], negatives.shape)
            shown_heads = np.concatenate([support[..., 0].ravel(), swapped.ravel(), repeated.ravel()])
            contexts.tokens[:, 2 * self.extractor.max_neighbors] = self.extractor.tokens.entities(shown_heads)
        batch = ContextBatch.of(contexts, self.extractor, self.device)
        if self.settings.relation_token == "difference":
            batch = replace(batch, relation=self._difference(support)[torch.from_numpy(owners).to(self.device)])
        encoded = module(batch)
        num_support, num_true = support[..., 0].size, support[..., 0].size + queries[..., 0].size
        examples = encoded.rows(0, num_support).of_relations(num_episodes)
        positive = module.score(encoded.rows(num_support, num_true).of_relations(num_episodes), examples)
        negative = module.score(encoded.rows(num_true).of_relations(num_episodes), examples)
        scores = torch.cat([positive[..., None], negative.unflatten(1, (-1, negatives.shape[2]))], -1)
        own = torch.from_numpy(own_tokens[owners[:num_true]]).to(self.device)
        return EpisodeScores(scores, batch.first(num_true), own)

    def _swap_heads(self, heads: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return heads of shape (relations, B), some of them those of other queries of the same relation."""
        others = np.roll(heads, int(rng.integers(1, max(heads.shape[1], 2))), axis=1)
        return np.where(rng.random(heads.shape) < self.settings.swapped_heads, others, heads)

    def keep_hardest(self, episodes: list[Episode], count: int, rng: np.random.Generator) -> list[Episode]:
        """Return episodes with the wrong answers that score highest now, `count` for each query.

        Without gradients a score costs a fraction of a training step, and most wrong answers soon teach nothing.
        """
        self.module.eval()
        with torch.inference_mode():
            scores = self.read(episodes, rng).scores[..., 1:]  # (relations, B, n)
            hardest = scores.topk(count).indices.cpu().numpy()
        self.module.train()
        return [
            replace(episode, negatives=np.take_along_axis(episode.negatives, places, axis=1))
            for episode, places in zip(episodes, hardest, strict=True)
        ]

    def _own_tokens(self, episodes: list[Episode]) -> npt.NDArray[np.int64]:
        """Return the token of each episode's relation: that of a train task, or that of a relation of the graph."""
        first, own = self.extractor.tokens.first_task, [episode.hidden.relation for episode in episodes]
        return np.array([first + e.task if o is None else NUM_SPECIAL + o for e, o in zip(episodes, own, strict=True)])
