"""The loss of a training step and its gradient by the weights of a network of one hidden layer, in one call."""

import numpy as np
import numpy.typing as npt

from tripleshot.methods.evidence.native.structures import NetworkStructure, Pinned, library, run_in_parts

TILE = 16  # units that the kernel computes at once

Weights = npt.NDArray[np.float32]


def learn(
    features: Weights,
    layers: tuple[Weights, Weights, Weights],
    offsets: Weights,
    num_threads: int = 1,
) -> tuple[float, tuple[Weights, Weights, Weights]]:
    """Return the mean listwise loss of queries and its gradient; the number of threads changes nothing.

    There has to be a compiled kernel.

    Args:
        features: shape (groups, queries, tails, number of features), the true tail first.
        layers: weights, shape (width, number of features), bias and second layer, shape (width,) each.
        offsets: shape (groups,), added to the scores of wrong tails.
        num_threads: that share the groups.
    """
    kernel = library()
    assert kernel is not None
    features = np.ascontiguousarray(features, np.float32)
    num_groups, num_queries, num_tails, num_features = features.shape
    width = len(layers[1])
    padded = [np.zeros((rows, -width % TILE + width), np.float32) for rows in (num_features, 1, 1)]
    for wide, layer in zip(padded, layers, strict=True):
        wide[:, :width] = layer.T
    sizes = {"num_queries": num_queries, "num_tails": num_tails, "num_features": num_features}
    weights, bias, out = padded
    network = Pinned(NetworkStructure, **sizes, width=weights.shape[1], weights=weights, bias=bias, out=out)
    losses, offsets = np.zeros(num_groups), np.ascontiguousarray(offsets, np.float32)
    gradients = np.zeros((num_groups, num_features + 2, weights.shape[1]), np.float32)

    def run(first: int, last: int) -> None:
        failed = kernel.learn(
            *(network.address, last - first, features[first:].ctypes.data, offsets[first:].ctypes.data),
            *(losses[first:].ctypes.data, gradients[first:].ctypes.data),
        )
        if failed:
            raise MemoryError("no memory to learn")

    run_in_parts(run, num_groups, num_threads)
    total = gradients.sum(axis=0)[:, :width] / np.float32(num_groups * num_queries)
    return float(losses.sum()) / (num_groups * num_queries), (total[:-2].T, total[-2], total[-1])
