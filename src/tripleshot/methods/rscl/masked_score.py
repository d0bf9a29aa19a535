"""What the pre-trained encoder expects in the tail's place: the masking head as a part of the score. Not in the paper.

The paper trains the head in pre-training and throws it away. It knows which tails go with a head, whatever the
relation; the similarity to examples knows what the relation is about. Episodes leave nothing of what the head knows, so
the pre-trained encoder is kept beside the one that learns from them.
"""

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

DOUBLINGS = np.arange(-3, 5)  # of the usual weight, that examples may choose from
PRIOR = 0.25  # what a doubling squared must save in log ranks; chosen on NELL-One's dev tasks
MAX_RIVALS = 1000  # tails that an example's own has to be ranked above: they bound the time of a first question


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


class MaskedScore:
    """Weighs what is expected against the similarity to examples.

    Similarity to few examples says little, so the usual weight is that of the settings divided by their number. The
    examples themselves decide how far from it the weight of their relation is: each is left out in turn, and its tail
    is ranked by the similarity to the others and by what is expected of its head.
    """

    def __init__(self, masking_head: MaskingHead, similarity: Scorer, weight: float) -> None:
        """Take both parts of the score, and the weight for one example."""
        self.masking_head, self.similarity, self.weight = masking_head, similarity, weight
        self._weights: SupportCache[float] = SupportCache()

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        self._weights.clear()
        self.masking_head.clear_cache()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Return what is added to the similarity of tails: shape (n,)."""
        return np.float32(self.weight_of(support)) * self.masking_head.score(head, tails)

    def weight_of(self, support: IntArray) -> float:
        """Return the weight of what is expected for the relation of these examples."""
        return self._weights.get(support, lambda: self._choose_weight(support))

    def _choose_weight(self, support: IntArray) -> float:
        """Choose the weight by which the examples' tails rank best, near the usual one unless they say otherwise."""
        usual = self.weight / len(support)
        if len(support) == 1 or not usual:
            return usual
        graph = self.masking_head.extractor.graph
        pool, rng = candidates_like(graph, support[:, 1]), np.random.default_rng(0)
        weights, costs = usual * 2.0**DOUBLINGS, PRIOR * DOUBLINGS**2
        for place, (head, tail) in enumerate(support.tolist()):
            rivals = exclude_known(support, head, pool)
            rivals = rivals if len(rivals) <= MAX_RIVALS else rng.choice(rivals, MAX_RIVALS, replace=False)
            tails = np.append(rivals, tail)
            similar = self.similarity.score(np.delete(support, place, axis=0), head, tails)
            scores = similar + weights[:, None] * self.masking_head.score(head, tails)
            costs = costs + np.log1p(np.sum(scores[:, :-1] >= scores[:, -1:], axis=1))
        return float(weights[costs.argmin()])


def expectation_text(head: str, tail: str, weight: float) -> str:
    """Tell a person what the masking head says of an answer."""
    expects = "expects" if weight >= 0 else "does not expect"
    return f"after {head} with its neighbors, the pre-trained encoder {expects} {tail}, whatever the relation"
