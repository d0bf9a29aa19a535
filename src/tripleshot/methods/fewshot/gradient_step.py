"""What MetaR and GANA share: a relation's vector, made from its examples, is moved by the gradient of their own loss.

An example is right when its tail lies where head + relation points to, and nearer than a wrong tail by a margin. The
gradient of that loss is used as a number (first order), so it is written out here instead of asked from autograd: it
costs no second pass, and scoring needs no recorded graph for it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import candidates_like
from tripleshot.datasets.episodes import TaskBatch
from tripleshot.datasets.task_pool import ATTEMPTS
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.losses import ranking_loss

SCORING_BATCH = 1 << 16  # candidates
TINY = 1e-12  # a residual of length 0 has the gradient 0


@dataclass(frozen=True, eq=False)
class Differences:
    """Head minus tail, as vectors, of everything in a batch of tasks.

    Attributes:
        support: shape (T, K, d), of the examples; `wrong_support` with a wrong tail each.
        queries: shape (T, B, d), of the true answers.
        wrong_queries: shape (T, B, n, d), of the wrong ones.
    """

    support: Tensor
    wrong_support: Tensor
    queries: Tensor
    wrong_queries: Tensor


def embed(table: nn.Embedding, batch: TaskBatch) -> tuple[Tensor, Differences]:
    """Look a whole batch up at once, so that its gradient is one sparse tensor.

    Returns:
        vectors of the examples, shape (T, K, 2, d), and the differences.
    """
    ids = (batch.support, batch.support_negatives, batch.queries, batch.negatives)
    flat = np.concatenate([part.ravel() for part in ids])
    looked_up = table(torch.from_numpy(flat).to(table.weight.device)).split([part.size for part in ids])
    support, wrong, queries, negatives = (part.view(*of.shape, -1) for part, of in zip(looked_up, ids, strict=True))
    heads, query_heads = support[:, :, 0], queries[:, :, 0]
    differences = Differences(
        heads - support[:, :, 1],
        heads - wrong,
        query_heads - queries[:, :, 1],
        query_heads[:, :, None] - negatives,
    )
    return support, differences


def distance_loss(near: Tensor, far: Tensor, margin: float) -> Tensor:
    """Return the ranking loss of residuals that should be short against those that should be long.

    Args:
        near: shape (T, B, d).
        far: shape (T, B, n, d).
        margin: between their lengths.
    """
    return ranking_loss(-near.norm(dim=-1, keepdim=True), -far.norm(dim=-1), margin)


def pull(near: Tensor, far: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Return where each example's loss, max(0, margin + |near| - |far|), pulls its two residuals.

    Args:
        near: shape (T, K, d), head + relation - tail of the examples.
        far: shape (T, K, d), the same with a wrong tail.
        margin: by which the wrong tail should be farther away.

    Returns:
        the gradient in `near` and minus the gradient in `far`, shape (T, K, d) each; zero where the margin is kept.
    """
    short, long = (residual.norm(dim=-1, keepdim=True) for residual in (near, far))
    is_active = margin + short - long > 0
    return is_active * near / short.clamp(min=TINY), is_active * far / long.clamp(min=TINY)


@torch.no_grad()
def relation_gradient(near: Tensor, far: Tensor, margin: float) -> Tensor:
    """Return the gradient of the examples' mean loss in the relation's vector, shape (T, d)."""
    toward, away = pull(near, far, margin)
    return (toward - away).mean(1)


def draw_wrong_tails(graph: KnowledgeGraph, support: IntArray) -> npt.NDArray[np.int64]:
    """Return a wrong tail for each example of a new relation, always the same for the same examples.

    It is drawn among the entities like the examples' tails, and is no example's tail of the same head. Nothing else is
    known of the relation: what other true tails it has must not be looked up.

    Args:
        graph: the background.
        support: shape (K, 2).
    """
    support = np.asarray(support, dtype=np.int64)
    rng = np.random.default_rng(support.ravel())
    candidates = candidates_like(graph, support[:, 1])
    candidates = candidates if len(candidates) > 1 else np.arange(graph.num_entities)
    drawn = candidates[rng.integers(len(candidates), size=len(support))].astype(np.int64)
    same_head = support[:, None, 0] == support[None, :, 0]
    for _ in range(ATTEMPTS):
        is_true = (same_head & (drawn[:, None] == support[None, :, 1])).any(axis=1)
        if not is_true.any():
            break
        drawn[is_true] = candidates[rng.integers(len(candidates), size=int(is_true.sum()))]
    return drawn
