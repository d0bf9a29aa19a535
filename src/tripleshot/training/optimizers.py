"""Which optimizer updates which weights: sparse embeddings need one that touches only the rows in use."""

from typing import Literal

import torch
from torch import nn

OptimizerKind = Literal["adam", "adagrad"]


def make_optimizers(module: nn.Module, kind: OptimizerKind, rate: float) -> list[torch.optim.Optimizer]:
    """Return the optimizers that update all weights of a module.

    Adam is two: one for dense weights, one for the rows in use of sparse embeddings. Adagrad is one for both, and keeps
    half as much for each weight.
    """
    if kind == "adagrad":
        torch.sparse.check_sparse_tensor_invariants.disable()  # as it is by default; torch warns where nobody says so
        return [torch.optim.Adagrad(module.parameters(), lr=rate)]
    sparse = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding) and part.sparse}
    groups = ([], [])
    for parameter in module.parameters():
        groups[id(parameter) in sparse].append(parameter)
    optimizers: list[torch.optim.Optimizer] = [torch.optim.Adam(groups[0], lr=rate, fused=True)]
    return [*optimizers, torch.optim.SparseAdam(groups[1], lr=rate)] if groups[1] else optimizers
