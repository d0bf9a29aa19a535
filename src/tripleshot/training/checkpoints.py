"""Weights on disk, and the whole state of a training: weights, averages, optimizers, random generators, progress.

A file is safetensors with a JSON header: nothing is pickled. It is replaced in one step, so that a run killed at any
moment leaves the last good one.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from tripleshot.errors import InputError
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.averaging import WeightAverage
from tripleshot.training.distributed import num_processes
from tripleshot.training.random_states import RandomStreams, pack_random_state
from tripleshot.training.tensor_files import fill_tensors, map_tensors, write_tensors
from tripleshot.training.weight_files import UNREADABLE, check_tensors, read_weights


def save_weights(module: nn.Module, folder: Path, name: str = WEIGHTS) -> None:
    """Write the current weights in one step."""
    write_tensors(folder / name, module.state_dict())


def load_weights(module: nn.Module, folder: Path) -> None:
    """Put the weights in a folder back into the module that they were written from."""
    path, state = folder / WEIGHTS, module.state_dict()
    if unknown := read_weights(path).keys() - state.keys():
        raise InputError(f"{path}: belongs to another configuration: the network has no {min(unknown)}")
    fill_tensors(path, state)


def count_weights(folder: Path) -> int:
    """Return how many numbers a run has learned."""
    with safe_open(folder / WEIGHTS, framework="np") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


@dataclass
class TrainingProgress:
    """How far a training has come.

    Attributes:
        stage: index of the stage that is running.
        step: steps done in that stage.
        best_mrr: the best validation so far, -1 before the first.
        best_step: when it was.
        worse_in_a_row: validations since then.
        seconds: time of the steps alone, also of those before the training was resumed.
        spent: all time since the training was called, but not while it was stopped: preparing, steps, validations,
            checkpoints. `prepared` is what of it came before the first step, `saving` is the longest checkpoint.
        stage_began: what was spent when the stage began.
        validating: seconds of the validations in `spent`; `validations` says how many there were.
        validated_at: where in the stage the last validation was, in steps of its budget.
        valid_heads: how many heads a validation asks about, as many as the first had time for; 0 before it.
        best_ranks: reciprocal ranks of the best validation, 0 for queries that it did not ask.
        is_validating: the checkpoint was made before a validation, which comes before the next step.
        loss_sums: sums of the losses since they were last logged; `loss_count` says over how many steps.
        num_logged: lines of the log so far.
        finished: nothing is left to do.
    """

    stage: int = 0
    step: int = 0
    best_mrr: float = -1.0
    best_step: int = 0
    worse_in_a_row: int = 0
    seconds: float = 0.0
    spent: float = 0.0
    prepared: float = 0.0
    saving: float = 0.0
    stage_began: float = 0.0
    validating: float = 0.0
    validations: int = 0
    validated_at: float = 0.0
    valid_heads: int = 0
    best_ranks: list[float] = field(default_factory=list)
    is_validating: bool = False
    loss_sums: dict[str, float] = field(default_factory=dict)
    loss_count: int = 0
    num_logged: int = 0
    finished: bool = False


def save_checkpoint(
    path: Path,
    module: nn.Module,
    average: WeightAverage,
    optimizers: list[torch.optim.Optimizer],
    random_states: Tensor,
    progress: TrainingProgress,
) -> None:
    """Write everything that the next step depends on; `random_states` are those of all processes."""
    tensors = {f"module.{name}": value for name, value in module.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in average.values.items()}
    for number, optimizer in enumerate(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{index}.{key}": torch.as_tensor(value) for key, value in state.items()}
    tensors["random"] = random_states
    write_tensors(path, tensors, {"state": json.dumps({"progress": asdict(progress)})})


def load_checkpoint(
    path: Path,
    module: nn.Module,
    optimizers_of: Callable[[int], list[torch.optim.Optimizer]],
    streams: RandomStreams,
) -> tuple[list[torch.optim.Optimizer], TrainingProgress]:
    """Restore the state of a training; `optimizers_of` makes the optimizers of a stage.

    Raises:
        InputError: the file is damaged, of another network, or of another number of processes.
    """
    try:
        check_tensors(path)
        saved, metadata = map_tensors(path)
        header = json.loads(metadata["state"])
        progress = TrainingProgress(**header["progress"])
        _restore_random(path, saved, header, streams)
        fill_tensors(path, {f"module.{name}": value for name, value in module.state_dict().items()})
        optimizers = optimizers_of(progress.stage)
        for number, optimizer in enumerate(optimizers):
            _restore_optimizer(optimizer, path, f"optimizer.{number}.", saved)
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{path}: not a readable checkpoint: {error}") from None
    return optimizers, progress


def load_average(path: Path, average: WeightAverage) -> None:
    """Restore the averages of the weights, where a training keeps them."""
    fill_tensors(path, {f"average.{name}": value for name, value in average.values.items()})


def _restore_random(path: Path, saved: Mapping[str, Tensor], header: dict[str, Any], streams: RandomStreams) -> None:
    """Put the random generators of this process back; every process of a training had its own."""
    is_former = "torch" in saved  # an earlier version kept the state of the leader alone
    states = pack_random_state(saved["torch"], header["numpy"])[None] if is_former else saved["random"]
    if len(states) != num_processes() * len(streams):
        raise InputError(
            f"{path}: was written by a training in {_count(len(states) // len(streams))}, and goes on in as many, "
            f"not in {_count(num_processes())}: see torchrun --nproc-per-node"
        )
    streams.restore(states[streams.first : streams.first + len(streams)])


def _count(number: int) -> str:
    return "one process" if number == 1 else f"{number} processes"


def _restore_optimizer(optimizer: torch.optim.Optimizer, path: Path, prefix: str, saved: Mapping[str, Tensor]) -> None:
    """Put the state of an optimizer back, into the tensors that it has made already where it has made them."""
    present = optimizer.state_dict()
    states: dict[int, dict[str, Tensor | int]] = {}
    moments: dict[str, Tensor] = {}
    for name, value in saved.items():
        if name.startswith(prefix):
            index, _, key = name.removeprefix(prefix).partition(".")
            made = present["state"].get(int(index), {})
            if value.dtype == torch.int64 and not value.dim():  # SparseAdam counts its steps in a plain int
                states.setdefault(int(index), {})[key] = int(value)
            else:
                moments[name] = states.setdefault(int(index), {})[key] = made.get(key, torch.empty_like(value))
    fill_tensors(path, moments)
    optimizer.load_state_dict({**present, "state": states})
