"""Weighs what speaks for a tail, and how much the contexts' own score is to be trusted beside it."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

FIRST_TRUST = 0.1  # the contexts' score comes in hundreds, a feature in ones


class EvidenceHead(nn.Module):
    """Small networks over the features of a pair, whose mean counts; learned over many relations, they serve a new one.

    Features cost more than all the networks that look at them, so a few that start apart, and have other features
    hidden from them in a step, make a steadier score for nearly nothing.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, num_features: int, width: int, left_out: Tensor | None = None, num_members: int = 1) -> None:
        """Start at random; `standardize` has to be told what features look like.

        Args:
            num_features: of a pair.
            width: of the hidden layer of each network.
            left_out: shape (num_features,), true for those that are never looked at (ablation).
            num_members: how many networks.
        """
        super().__init__()
        self.left_out, self.num_members = left_out, num_members
        self.hidden = nn.Linear(num_features, num_members * width)
        self.out = nn.Linear(width, num_members, bias=False)
        self.trust = nn.Parameter(torch.tensor(math.log(FIRST_TRUST)))
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))

    def standardize(self, features: Tensor) -> None:
        """Take mean and deviation from a sample of pairs, shape (n, num_features)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=1e-3))

    def forward(self, features: Tensor, without: Tensor | None = None) -> Tensor:
        """Score pairs by their features, shape (..., num_features), as if those in `without` were as usual."""
        usual = self._usual(features)
        if without is not None:
            usual = usual * ~without.to(usual.device)
        return self._read(usual, self.hidden.weight).mean(-1)

    def each(self, features: Tensor, without: Tensor) -> Tensor:
        """Return the score of each network, shape (num_members, ...), none of them seeing all features.

        Args:
            features: shape (..., num_features).
            without: shape (num_members, num_features), true for those that are as usual to a network.
        """
        weight = self.hidden.weight.unflatten(0, (self.num_members, -1)) * ~without.unsqueeze(1)
        return self._read(self._usual(features), weight.flatten(0, 1)).movedim(-1, 0)

    def _usual(self, features: Tensor) -> Tensor:
        """Tell how unusual features are."""
        usual = (features - self.mean) / self.deviation
        return usual if self.left_out is None else usual * ~self.left_out.to(usual.device)

    def _read(self, usual: Tensor, weight: Tensor) -> Tensor:
        hidden = functional.gelu(functional.linear(usual, weight, self.hidden.bias))
        return (hidden.unflatten(-1, (self.num_members, -1)) * self.out.weight).sum(-1)

    def weigh(self, contexts: Tensor, features: Tensor) -> Tensor:
        """Add the features' score to the score of the contexts, shape (...)."""
        return self.trust.exp() * contexts + self(features)
