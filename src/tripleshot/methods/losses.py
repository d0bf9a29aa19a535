"""Ranking loss and masked-token loss (paper, section IV-D), and the losses of embedding methods."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

CorruptionLoss = Literal["margin", "softplus", "softmax"]


def ranking_loss(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Return the mean of max(0, margin + S- - S+) (equation 19); shapes (n,)."""
    return functional.relu(margin + negative - positive).mean()


def listwise_loss(scores: Tensor, weights: Tensor) -> Tensor:
    """Return the mean negative log probability of the true answer in a softmax over all candidates, as estimated.

    Args:
        scores: shape (..., 1 + n), the true answer first, then wrong ones that were sampled.
        weights: how many candidates each of them stands for, broadcast to (..., n).
    """
    positive, negative = scores[..., :1], scores[..., 1:] + weights.log()
    return (torch.cat([positive, negative], -1).logsumexp(-1) - positive.squeeze(-1)).mean()


def corruption_loss(scores: Tensor, kind: CorruptionLoss, margin: float) -> Tensor:
    """Return the loss of true triples among wrong ones.

    Args:
        scores: shape (b, 1 + n), the true triple first.
        kind: `margin` is the ranking loss; `softplus` the log loss of each, true and wrong ones weighing the same;
            `softmax` the log loss of the true triple among all, in which the wrong ones that score high weigh most.
        margin: of the ranking loss.
    """
    if kind == "softmax":
        return (scores.logsumexp(1) - scores[:, 0]).mean()
    positive, negative = scores.split([1, scores.shape[1] - 1], 1)
    if kind == "margin":
        return ranking_loss(positive, negative, margin)
    return (functional.softplus(-positive).mean() + functional.softplus(negative).mean()) / 2


def exact_token_loss(states: Tensor, table: Tensor, targets: Tensor) -> Tensor:
    """Return the cross entropy over the whole vocabulary (equations 20 and 21).

    Args:
        states: shape (n, d), final states of masked tokens.
        table: shape (vocabulary, d), element embeddings, tied to the classifier.
        targets: shape (n,), rows of the table.
    """
    return functional.cross_entropy(states @ table.T, targets)


def sampled_token_loss(states: Tensor, targets: Tensor, sampled: Tensor, table: Tensor, vocabulary: int) -> Tensor:
    """Return the cross entropy against shared, uniformly sampled negatives, corrected for how few they are.

    The sum over the vocabulary in the softmax is estimated by the sampled ones, each standing for vocabulary / n.

    Args:
        states: shape (n, d).
        targets: shape (n,), the true tokens.
        sampled: shape (m,), the sampled tokens; one that is the target of a row does not count in that row.
        table: maps tokens to embeddings, shape (vocabulary, d); its gradient is sparse.
        vocabulary: how many tokens could have been sampled.
    """
    positive = (states * functional.embedding(targets, table, sparse=True)).sum(1, keepdim=True)
    correction = torch.log(torch.tensor(vocabulary / len(sampled)))
    negative = states @ functional.embedding(sampled, table, sparse=True).T + correction
    negative = negative.masked_fill(targets[:, None] == sampled, float("-inf"))
    return (torch.cat([positive, negative], dim=1).logsumexp(1) - positive.squeeze(1)).mean()
