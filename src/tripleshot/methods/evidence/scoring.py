"""The network that weighs evidence, as it is trained; `network_weights` has what it has learned, without torch."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.methods.evidence.network_weights import MIN_DEVIATION, OF_TRUST


class FeatureScorer(nn.Module):
    """A network of one hidden layer over the features of a pair, which it sees by how unusual they are."""

    mean: Tensor
    deviation: Tensor
    trusted: nn.Parameter | None
    trusting: nn.Parameter | None

    def __init__(
        self, num_features: int, width: int, left_out: Tensor | None = None, follows_trust: bool = False
    ) -> None:
        """Start at random; `standardize` has to be told what features look like.

        Args:
            num_features: per pair.
            width: of the hidden layer.
            left_out: shape (num_features,), true for those that are never looked at (ablation).
            follows_trust: weigh features by how far they can be trusted for a relation.
        """
        super().__init__()
        self.left_out = left_out
        self.hidden = nn.Linear(num_features, width)
        for name in OF_TRUST:
            self.register_parameter(name, nn.Parameter(torch.zeros(width, num_features)) if follows_trust else None)
        self.out = nn.Linear(width, 1, bias=False)
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))

    def standardize(self, features: Tensor) -> None:
        """Take mean and deviation from a sample of pairs, shape (n, num_features)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=MIN_DEVIATION))

    def forward(self, features: Tensor, without: Tensor | None = None, trust: Tensor | None = None) -> Tensor:
        """Score pairs by their features, shape (..., num_features), as `first_layer` weighs them."""
        return self.second_layer(functional.linear(features, *self.first_layer(without, trust)))

    def first_layer(self, without: Tensor | None = None, trust: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the first layer as it applies to features that are not standardized: weights and bias.

        It is linear: what parts of the features add to it can be computed apart and added up.

        Args:
            without: shape (num_features,), true for features that count as if they had their mean.
            trust: shape (num_features,), how far each can be trusted for a relation; None for a relation that nothing
                is known of.
        """
        seen = torch.ones_like(self.deviation)
        for ignored in (self.left_out, without):
            if ignored is not None:
                seen = seen * ~ignored.to(seen.device)
        weights, bias = self.hidden.weight, self.hidden.bias
        if trust is not None and self.trusted is not None and self.trusting is not None:
            weights, bias = weights + self.trusted * (trust * seen), bias + self.trusting @ (trust * seen)
        weights = weights * (seen / self.deviation)
        return weights, bias - weights @ self.mean

    def second_layer(self, hidden: Tensor) -> Tensor:
        """Score pairs by what the first layer says of them, shape (..., width)."""
        return self.out(functional.gelu(hidden)).squeeze(-1)
