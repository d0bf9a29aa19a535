"""Weighs what speaks for a tail."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class EvidenceHead(nn.Module):
    """A small network over the features of a pair; its weights are learned over many relations, and serve a new one."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, num_features: int, width: int, left_out: Tensor | None = None) -> None:
        """Start at random; `standardize` has to be told what features look like.

        Args:
            num_features: of a pair.
            width: of the hidden layer.
            left_out: shape (num_features,), true for those that are never looked at (ablation).
        """
        super().__init__()
        self.left_out = left_out
        self.hidden = nn.Linear(num_features, width)
        self.out = nn.Linear(width, 1, bias=False)
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))

    def standardize(self, features: Tensor) -> None:
        """Take mean and deviation from a sample of pairs, shape (n, num_features)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=1e-3))

    def forward(self, features: Tensor, without: Tensor | None = None) -> Tensor:
        """Score pairs by their features, shape (..., num_features), as if those in `without` were as usual."""
        usual = (features - self.mean) / self.deviation
        for ignored in (self.left_out, without):
            if ignored is not None:
                usual = usual * ~ignored.to(usual.device)
        return self.out(functional.gelu(self.hidden(usual))).squeeze(-1)
