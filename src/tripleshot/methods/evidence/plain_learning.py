"""The loss that evidence is learned by and its gradient, with arrays alone: the reference of `native.network.learn`."""

import math

import numpy as np

from tripleshot.methods.evidence.network_weights import Array, Layers, normal_distribution


def learn_plainly(features: Array, layers: Layers, offsets: Array) -> tuple[float, Layers]:
    """Return the mean listwise loss of queries and its gradient by weights, bias and second layer.

    Args:
        features: shape (groups, queries, tails, number of features), the true tail first.
        layers: weights, shape (width, number of features), bias and second layer, shape (width,) each.
        offsets: shape (groups,), added to the scores of wrong tails.
    """
    weights, bias, out = layers
    hidden = features @ weights.T + bias
    below = normal_distribution(hidden)
    scores = (hidden * below) @ out
    scores[..., 1:] += offsets[:, None, None]
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    loss = -float(np.log(np.maximum(shares[..., 0], np.finfo(np.float32).tiny)).mean())
    shares[..., 0] -= 1
    by_score = (shares / shares[..., 0].size).astype(np.float32)
    slope = below + hidden * np.exp(-(hidden**2) / 2) / np.float32(math.sqrt(2 * math.pi))
    by_hidden = (by_score[..., None] * out * slope).reshape(-1, len(out))
    by_out = np.einsum("gqt,gqtw->w", by_score, hidden * below)
    return loss, (by_hidden.T @ features.reshape(-1, features.shape[-1]), by_hidden.sum(0), by_out)
