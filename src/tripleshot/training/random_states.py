"""The random generators of a training, as a checkpoint keeps them: one row of bytes for each batch of a step.

Each batch of a step, in whichever process, is drawn and dropped out by generators of its own. So processes do not draw
the same episodes, and one process with two batches a step draws what two processes with one draw.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tripleshot.training.distributed import gather, rank

NUMPY_BYTES = 1024  # JSON of NumPy's generator, padded with blanks


class RandomStreams:
    """Generators of NumPy and torch for each batch of a step in this process."""

    def __init__(self, seed: int, num_batches: int = 1) -> None:
        """Seed NumPy's generators; torch's wait for `begin`, as it has one for everything."""
        self.seed, self.first = seed, rank() * num_batches
        self.rngs = [np.random.default_rng([seed, self.first + number]) for number in range(num_batches)]
        self._torch_states: list[Tensor] = []  # of batches but the one that is drawn; empty if there is only one

    def __len__(self) -> int:
        return len(self.rngs)

    def begin(self) -> None:
        """Seed torch."""
        if len(self) == 1:
            torch.manual_seed(self.seed + self.first)
        else:
            places = range(self.first, self.first + len(self))
            self._torch_states = [torch.manual_seed(self.seed + place).get_state() for place in places]

    @contextmanager
    def using(self, number: int) -> Iterator[np.random.Generator]:
        """Let a batch be drawn by its own generators: NumPy's, which is given, and torch's."""
        if self._torch_states:
            torch.set_rng_state(self._torch_states[number])
        yield self.rngs[number]
        if self._torch_states:
            self._torch_states[number] = torch.get_rng_state()

    def pack(self) -> Tensor:
        """Return all states, of shape (num_batches, num_bytes)."""
        states = self._torch_states or [torch.get_rng_state()]
        packed = [
            pack_random_state(state, rng.bit_generator.state) for state, rng in zip(states, self.rngs, strict=True)
        ]
        return torch.stack(packed)

    def restore(self, states: Tensor) -> None:
        """Put states back, one row for each batch.

        Raises:
            ValueError, TypeError, RuntimeError, KeyError: these are no such states.
        """
        of_torch = [row[:-NUMPY_BYTES].clone() for row in states]
        for rng, row, state in zip(self.rngs, states, of_torch, strict=True):
            numpy_state = json.loads(bytes(row[-NUMPY_BYTES:].tolist()))
            torch.set_rng_state(state)
            rng.bit_generator.state = numpy_state
        self._torch_states = of_torch if len(self) > 1 else []


def gather_random_states(streams: RandomStreams) -> Tensor:
    """Return the states of the generators of all processes, of shape (num_processes * num_batches, num_bytes)."""
    return gather(streams.pack()).flatten(0, 1)


def pack_random_state(torch_state: Tensor, numpy_state: Mapping[str, Any]) -> Tensor:
    """Return the states of two generators as one row of bytes."""
    content = bytearray(json.dumps(numpy_state).encode().ljust(NUMPY_BYTES))
    return torch.cat([torch_state, torch.frombuffer(content, dtype=torch.uint8)])
