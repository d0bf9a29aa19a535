"""What the pre-trained encoder expects in the tail's place: the masking head as a part of the score. Not in the paper.

The paper trains the head in pre-training and throws it away. It knows which tails go with a head, whatever the
relation; the similarity to examples knows what the relation is about. Episodes leave nothing of what the head knows, so
the pre-trained encoder is kept beside the one that learns from them.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import candidates_like, exclude_known
from tripleshot.methods.caching import SupportCache
from tripleshot.methods.protocol import Scorer
from tripleshot.methods.rscl.contexts import ContextBatch, ContextExtractor, Contexts, Neighbors
from tripleshot.methods.rscl.network import RSCL
from tripleshot.methods.rscl.tokens import MASK, RELATION

PRIOR_EXAMPLES = 2  # that the usual share counts for; chosen on tasks held out of NELL-One's train tasks
NUM_ITERATIONS = 30
MAX_LOG_ODDS = 50.0
MAX_RIVALS, MAX_RIVALS_OF_EXAMPLE = 20_000, 1000  # candidates that are rated: they bound the time of a question


def masked_contexts(extractor: ContextExtractor, heads: IntArray) -> Contexts:
    """Return contexts of heads: their neighbors, the head, the shared relation token, and [MASK] for whatever tail."""
    heads, p = np.asarray(heads, dtype=np.int64), extractor.max_neighbors
    nothing, none = np.full((1, p), -1), np.zeros(1, dtype=np.int64)
    of_tails = Neighbors(nothing, nothing, none, none)
    contexts = extractor.join(heads, heads, RELATION, extractor.neighbors(heads), of_tails)
    contexts.tokens[:, 2 * p + 2] = MASK
    return contexts


class MaskingHead:
    """Tells how much tails are expected: one context for each head, whatever the number of tails."""

    def __init__(self, module: RSCL, extractor: ContextExtractor, device: torch.device) -> None:
        """Take a pre-trained network."""
        self.module, self.extractor, self.device = module, extractor, device
        self.unknown_entities: IntArray = np.empty(0, dtype=np.int64)
        self._mean_entity: Tensor | None = None

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        self._mean_entity = None

    @torch.inference_mode()
    def score(self, head: int, tails: IntArray) -> FloatArray:
        """Return how much more likely each tail is than the mean entity, in log odds: shape (n,).

        What has no embedding of its own is as likely as the mean entity.
        """
        batch = ContextBatch.of(masked_contexts(self.extractor, np.array([head])), self.extractor, self.device)
        state = self.module.states(batch, batch.tokens == MASK)[0]
        tokens = torch.from_numpy(self.extractor.tokens.entities(tails)).to(self.device)
        scores = (self.module.elements(tokens) @ state - self._mean() @ state).cpu().numpy()
        scores[np.isin(tails, self.unknown_entities)] = 0
        return scores

    def _mean(self) -> Tensor:
        if self._mean_entity is None:
            self._mean_entity = self.module.elements.weight[self.extractor.tokens.first_entity :].mean(0)
        return self._mean_entity


@dataclass(frozen=True, eq=False)
class Rivals:
    """The candidates of a question, and what all of them come to.

    Attributes:
        tails: sorted; of very many, some.
        similarity: of each, shape (n,).
        similar: logarithm of the sum of exp(similarity) over all candidates; `expected` that of what is expected.
        count: of all candidates.
    """

    tails: IntArray
    similarity: FloatArray
    similar: float
    expected: float
    count: int


class MaskedScore:
    """A mixture of what is similar to the examples and what is expected after the head.

    Both are a softmax over the candidates of the question. They are mixed, not multiplied, so that a tail which one of
    them is sure of is not ruled out by the other: a relation that the encoder knows nothing of, or examples that are
    like everything, cost one share of the probability at most. The examples decide on the shares of their relation:
    each is left out in turn, and what gives its tail the higher probability has the larger share (expectation
    maximization, with the usual share as the prior).
    """

    def __init__(self, masking_head: MaskingHead, similarity: Scorer, expected_share: float) -> None:
        """Take both parts of the score, and the share that what is expected usually has."""
        self.masking_head, self.similarity, self.expected_share = masking_head, similarity, expected_share
        self._pools: SupportCache[IntArray] = SupportCache()
        self._shares: SupportCache[float] = SupportCache()
        self._rivals: SupportCache[Rivals] = SupportCache()

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        self._shares.clear()
        self._rivals.clear()
        self.masking_head.clear_cache()

    def compare_among(self, support: IntArray, candidates: IntArray) -> None:
        """Take what a tail's probability is among, for these examples, in place of what is open to anybody."""
        if self._pool(support) is not candidates:
            self._shares.clear()
            self._rivals.clear()
            self._pools.clear()
            self._pools.get(support, lambda: candidates)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Return the logarithm of each tail's probability among the candidates of the question: shape (n,)."""
        return np.logaddexp(*self.parts(support, head, tails)).astype(np.float32)

    def parts(self, support: IntArray, head: int, tails: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of what similarity and what expectation add to the probability of each tail."""
        rivals, share = self.rivals(support, head), self.share_of(support)
        places = np.searchsorted(rivals.tails, tails).clip(max=len(rivals.tails) - 1)
        is_rival = rivals.tails[places] == tails
        similar = rivals.similarity[places].astype(np.float64)
        similar[~is_rival] = self.similarity.score(support, head, np.asarray(tails)[~is_rival])
        expected = self.masking_head.score(head, tails).astype(np.float64)
        with np.errstate(divide="ignore"):  # a share may be zero
            return similar - rivals.similar + np.log1p(-share), expected - rivals.expected + np.log(share)

    def rivals(self, support: IntArray, head: int) -> Rivals:
        """Return the candidates of a question; a tail's score does not depend on which others are asked about."""
        asked = np.append(support, [[head, -1]], axis=0)
        return self._rivals.get(asked, lambda: self._rate(support, head, self._pool(support), MAX_RIVALS))

    def share_of(self, support: IntArray) -> float:
        """Return the share of what is expected for the relation of these examples."""
        return self._shares.get(support, lambda: self._choose_share(support))

    def _pool(self, support: IntArray) -> IntArray:
        graph = self.masking_head.extractor.graph
        return self._pools.get(support, lambda: candidates_like(graph, support[:, 1]))

    def _rate(self, support: IntArray, head: int, pool: IntArray, max_rivals: int) -> Rivals:
        """Rate candidates by both parts; of more than `max_rivals`, some stand for all."""
        tails = exclude_known(support, head, pool)
        tails = tails if len(tails) else pool
        count = len(tails)
        if count > max_rivals:
            tails = np.sort(np.random.default_rng(0).choice(tails, max_rivals, replace=False))
        similarity, expected = self.similarity.score(support, head, tails), self.masking_head.score(head, tails)
        rest = math.log(max(count, 1) / max(len(tails), 1))
        return Rivals(tails, similarity, _log_sum(similarity) + rest, _log_sum(expected) + rest, count)

    def _choose_share(self, support: IntArray) -> float:
        """Return the share under which the tails of examples are likeliest, near the usual one unless they object."""
        usual = share = self.expected_share
        if len(support) == 1:
            return usual
        odds = []
        for place, (head, tail) in enumerate(support.tolist()):
            others, asked = np.delete(support, place, axis=0), np.array([tail])
            rivals = self._rate(others, head, np.setdiff1d(self._pool(support), asked), MAX_RIVALS_OF_EXAMPLE)
            similar, expected = self.similarity.score(others, head, asked)[0], self.masking_head.score(head, asked)[0]
            likely = similar - np.logaddexp(rivals.similar, similar), expected - np.logaddexp(rivals.expected, expected)
            odds.append(likely[0] - likely[1])
        likelier = np.exp(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))  # by similarity than by expectation
        for _ in range(NUM_ITERATIONS):
            of_expected = share / (share + (1 - share) * likelier)
            share = float((of_expected.sum() + PRIOR_EXAMPLES * usual) / (len(support) + PRIOR_EXAMPLES))
        return share


def _log_sum(scores: FloatArray) -> float:
    """Return the logarithm of the sum of exp(score): of no scores, minus infinity."""
    return float(np.logaddexp.reduce(scores.astype(np.float64), initial=-np.inf))


def expectation_text(head: str, tail: str, is_expected: bool) -> str:
    """Tell a person what the masking head says of an answer."""
    expects = "expects" if is_expected else "does not expect"
    return f"after {head} with its neighbors, the pre-trained encoder {expects} {tail}, whatever the relation"
