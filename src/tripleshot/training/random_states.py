"""The random generators of a training, as a checkpoint keeps them: one row of bytes for each process.

Each process draws its own episodes and drops its own weights. If all went on from the leader's generators, they would
draw the same ones.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tripleshot.training.distributed import gather

NUMPY_BYTES = 1024  # JSON of NumPy's generator, padded with blanks


def gather_random_states(rng: np.random.Generator) -> Tensor:
    """Return the states of torch's and NumPy's generators in every process, of shape (num_processes, num_bytes)."""
    return gather(pack_random_state(torch.get_rng_state(), rng.bit_generator.state))


def pack_random_state(torch_state: Tensor, numpy_state: Mapping[str, Any]) -> Tensor:
    """Return the states of two generators as one row of bytes."""
    content = bytearray(json.dumps(numpy_state).encode().ljust(NUMPY_BYTES))
    return torch.cat([torch_state, torch.frombuffer(content, dtype=torch.uint8)])


def restore_random_state(state: Tensor, rng: np.random.Generator) -> None:
    """Put one row back into the generators of this process.

    Raises:
        ValueError, TypeError, RuntimeError, KeyError: these are no such states.
    """
    numpy_state = json.loads(bytes(state[-NUMPY_BYTES:].tolist()))
    torch.set_rng_state(state[:-NUMPY_BYTES].clone())
    rng.bit_generator.state = numpy_state
