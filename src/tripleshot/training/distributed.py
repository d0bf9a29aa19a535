"""Data-parallel training under `torchrun`: each process draws its own batches, gradients are averaged.

Nothing here is home-made: `torch.distributed` starts the processes' group, DistributedDataParallel averages the
gradients, also the sparse ones of the embeddings (gloo). Started without torchrun, everything is as for one process.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tripleshot.arrays import FloatArray
from tripleshot.evaluation.validation import Team


@contextmanager
def process_group(device: str) -> Iterator[None]:
    """Join the processes that torchrun started, if it did and they are not joined yet."""
    if dist.is_initialized() or "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield
        return
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo")  # flags are on the CPU
    try:
        yield
    finally:
        dist.destroy_process_group()


def rank() -> int:
    """Return this process's number; 0 leads, writes and speaks."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_parallel() -> bool:
    """Tell whether there is more than one process."""
    return num_processes() > 1


def broadcast(value: float) -> float:
    """Return the leader's value in every process."""
    if not is_parallel():
        return value
    shared = torch.tensor([value], dtype=torch.float64)
    dist.broadcast(shared, src=0)
    return float(shared)


def num_processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def gather(row: torch.Tensor) -> torch.Tensor:
    """Return the rows of all processes, of one shape and type, below each other in every process."""
    if not is_parallel():
        return row[None]
    rows = [torch.empty_like(row) for _ in range(num_processes())]
    dist.all_gather(rows, row)
    return torch.stack(rows)


def any_rank(flag: bool) -> bool:
    """Tell, in every process alike, whether the flag is up in one of them."""
    if not is_parallel():
        return flag
    shared = torch.tensor([float(flag)])
    dist.all_reduce(shared, dist.ReduceOp.MAX)
    return bool(shared > 0)


def mean_over_processes(values: list[float]) -> list[float]:
    """Return the mean of each number over all processes, in every process alike."""
    if not is_parallel():
        return values
    shared = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(shared)
    return (shared / num_processes()).tolist()


def team() -> Team:
    """Return this process as one of those that validate together."""

    def add(values: FloatArray) -> FloatArray:
        shared = torch.from_numpy(values.copy())
        dist.all_reduce(shared)
        return shared.numpy()

    if not is_parallel():
        return Team()
    return Team(rank(), num_processes(), add, lambda flag: bool(broadcast(flag)))


def wait_for_all() -> None:
    """Let every process come this far before any goes on."""
    if is_parallel():
        dist.barrier()


class _Objective(nn.Module):
    """A module whose forward pass is a loss, as DistributedDataParallel wants it."""

    def __init__(self, module: nn.Module, losses: Callable) -> None:
        super().__init__()
        self.module = module
        self.losses = losses

    def forward(self, *given: object) -> dict[str, torch.Tensor]:
        return self.losses(*given)


def wrap_ddp(module: nn.Module, losses: Callable) -> Callable:
    """Return the losses so that, after their backward pass, gradients are the mean over all processes."""
    if not is_parallel():
        return losses
    return DistributedDataParallel(_Objective(module, losses), find_unused_parameters=True)


def averaged_later(losses_of: Callable) -> AbstractContextManager[None]:
    """Keep the gradients of a batch in this process: the next batch adds its own before they are averaged."""
    return losses_of.no_sync() if isinstance(losses_of, DistributedDataParallel) else nullcontext()
