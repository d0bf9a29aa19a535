"""The batches of one step: each is drawn by its own generators; gradients are averaged, over processes, too."""

import math
from contextlib import nullcontext

import torch

from tripleshot.errors import TripleshotError
from tripleshot.methods.trainable import LossFunction
from tripleshot.training.distributed import averaged_later, mean_over_processes
from tripleshot.training.random_states import RandomStreams


class DivergedError(TripleshotError):
    """The loss is no number any more: to go on from the last checkpoint would end the same way."""


def find_gradients(losses_of: LossFunction, step: int, streams: RandomStreams, about: str) -> dict[str, float]:
    """Leave the mean gradient of the batches of all processes in the weights, and return the mean of each loss.

    Args:
        losses_of: the losses of a batch, as `wrap_ddp` returns them.
        step: how many were taken before.
        streams: has the generators of each batch of this process.
        about: the name of the stage, for messages.

    Raises:
        DivergedError: a loss is no number in one of the processes; it is raised in all of them.
    """
    num_batches, means = len(streams), {}
    for number in range(num_batches):
        is_last = number + 1 == num_batches
        with streams.using(number) as rng, nullcontext() if is_last else averaged_later(losses_of):
            losses = losses_of(step, rng)
            total = torch.stack(list(losses.values())).sum()
            values = mean_over_processes([float(value.detach()) for value in losses.values()])
            if not math.isfinite(sum(values)):
                raise DivergedError(f"the loss of {about} is {sum(values)} at step {step}: lower the learning rate")
            (total / num_batches).backward()
        for name, value in zip(losses, values, strict=True):
            means[name] = means.get(name, 0.0) + value / num_batches
    return means
