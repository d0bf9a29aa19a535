"""Which optimizer updates which weights, and how the learning rate goes down.

The paper says "weight decay is 0.25 for each 10k training steps". Read literally it leaves nothing after 50,000 of
300,000 steps; FSRL, where the phrase comes from, decays once. All readings are here; the valid tasks decide.
"""

import mmap

import torch
from torch import Tensor, nn

from tripleshot.methods.settings import OptimizerKind, Schedule

DECAY = 0.25
EVERY = 10_000
FLOOR = 0.025  # of the first rate, so that 1e-3 never falls below 2.5e-5


def learning_rate(schedule: Schedule, base: float, step: float, steps: int, warmup: int) -> float:
    """Return the rate for a step, counted from 0; a training that goes by time may be between two.

    `stepwise` multiplies by 0.25 every 10,000 steps down to a floor, `once` does so a single time, `linear` goes to the
    floor at the last step, `constant` stays. All rise linearly over the first `warmup` steps.
    """
    rising = min(1.0, (step + 1) / warmup) if warmup else 1.0
    match schedule:
        case "stepwise":
            factor = max(FLOOR, DECAY ** (step // EVERY))
        case "once":
            factor = DECAY if step >= EVERY else 1.0
        case "linear":
            factor = max(FLOOR, 1 - step / steps)
        case "constant":
            factor = 1.0
    return base * rising * factor


def make_optimizers(module: nn.Module, kind: OptimizerKind, rate: float) -> list[torch.optim.Optimizer]:
    """Return the optimizers that update all weights of a module.

    Adam is two: one for dense weights, one for the rows in use of sparse embeddings. Adagrad is one for both, and keeps
    half as much for each weight. What they keep of a row that was never in use takes no memory.
    """
    if kind == "adagrad":
        torch.sparse.check_sparse_tensor_invariants.disable()  # as it is by default; torch warns where nobody says so
        return [_make_adagrad(list(module.parameters()), rate)]
    sparse = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding) and part.sparse}
    groups = ([], [])
    for parameter in module.parameters():
        groups[id(parameter) in sparse].append(parameter)
    optimizers: list[torch.optim.Optimizer] = [torch.optim.Adam(groups[0], lr=rate, fused=True)]
    return [*optimizers, _make_sparse_adam(groups[1], rate)] if groups[1] else optimizers


def _make_adagrad(parameters: list[nn.Parameter], rate: float) -> torch.optim.Adagrad:
    """Make Adagrad for a weight without a row first: it would fill the sums of all that it is made for with zeros."""
    empty = torch.zeros(0)
    optimizer = torch.optim.Adagrad([empty], lr=rate)
    steps = optimizer.state.pop(empty)["step"]
    optimizer.param_groups[0]["params"] = parameters
    for parameter in parameters:
        optimizer.state[parameter] = {"step": steps.clone(), "sum": zeros_when_used(parameter)}
    return optimizer


def _make_sparse_adam(parameters: list[nn.Parameter], rate: float) -> torch.optim.SparseAdam:
    """Make Adam for sparse gradients with moments of its own: it would fill them with zeros at the first step."""
    optimizer = torch.optim.SparseAdam(parameters, lr=rate)
    for parameter in parameters:
        if parameter.requires_grad:
            moments = {name: zeros_when_used(parameter) for name in ("exp_avg", "exp_avg_sq")}
            optimizer.state[parameter] = {"step": 0, **moments}
    return optimizer


def zeros_when_used(like: Tensor) -> Tensor:
    """Return zeros as large as a tensor, whose memory pages come into being when they are first written to."""
    if like.device.type != "cpu" or not like.numel() or not hasattr(mmap, "MAP_PRIVATE"):
        return torch.zeros_like(like)
    pages = mmap.mmap(-1, like.numel() * like.element_size(), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(pages, dtype=like.dtype).view(like.shape)
