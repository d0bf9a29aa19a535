"""The loss that evidence is learned by, natively where that can be done.

`losses.listwise_loss` of the network's scores is what it is; the kernel goes forward and back query by query, so that
nothing of the hidden layer is kept.
"""

from typing import Any

import torch
from torch import Tensor

from tripleshot.methods.evidence.native.network import learn
from tripleshot.methods.evidence.scoring import FeatureScorer
from tripleshot.methods.losses import listwise_loss


def evidence_loss(
    network: FeatureScorer, features: Tensor, trust: Tensor, without: Tensor, weights: Tensor, native: bool
) -> Tensor:
    """Return the mean negative log probability of the true tails.

    Args:
        network: that scores.
        features: shape (relations, B, 1 + n, number of features), the true tail first.
        trust: shape (relations, number of features), how far each feature can be trusted for each relation.
        without: shape (number of features,), true for features that are left out.
        weights: shape (relations,), how many candidates each wrong tail stands for.
        native: whether compiled code, which there has to be, does the work; on another device than the processor torch
            does it anyway.
    """
    is_native = native and features.device.type == "cpu"
    if network.trusted is None:
        if not is_native:
            return listwise_loss(network(features, without), weights[:, None, None])
        return _ListwiseLoss.apply(features, weights.log(), *network.first_layer(without), network.out.weight[0])
    if not is_native:
        scores = [network(part, without, one) for part, one in zip(features, trust, strict=True)]
        return listwise_loss(torch.stack(scores), weights[:, None, None])
    losses = []
    for part, one, offset in zip(features.split(1), trust, weights.log().split(1), strict=True):
        losses.append(_ListwiseLoss.apply(part, offset, *network.first_layer(without, one), network.out.weight[0]))
    return torch.stack(losses).mean()


class _ListwiseLoss(torch.autograd.Function):
    """The loss, whose gradient is found at the same time."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, offsets: Tensor, *layers: Tensor) -> Tensor:  # noqa: ANN401
        weights, bias, out = (layer.detach().numpy() for layer in layers)
        loss, gradients = learn(features.numpy(), (weights, bias, out), offsets.numpy(), torch.get_num_threads())
        ctx.save_for_backward(*(torch.from_numpy(gradient) for gradient in gradients))
        return torch.tensor(loss, dtype=features.dtype)

    @staticmethod
    def backward(ctx: Any, *grown: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        return (None, None, *(grown[0] * gradient for gradient in ctx.saved_tensors))
