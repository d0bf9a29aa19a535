"""The encoder in C, about twice as fast as torch where many contexts are scored on a CPU.

`native_code` compiles it; where it cannot, torch does the work.
"""

import ctypes
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from tripleshot.errors import TripleshotError
from tripleshot.methods.native_code import is_wanted, load_library

Affine = nn.Linear | nn.LayerNorm


def is_ready(tokens: Tensor) -> bool:
    """Tell whether `encode` can take the place of torch for such tokens; compiles it if need be."""
    return is_wanted() and tokens.device.type == "cpu" and tokens.dtype == torch.float32 and library() is not None


def encode(
    tokens: Tensor, starts: Tensor, read: Tensor, blocks: Sequence[Sequence[Affine]], num_heads: int, epsilon: float
) -> Tensor:
    """Return the final states at `read`, as torch computes them; one thread, and other Python threads go on meanwhile.

    Args:
        tokens: shape (num_tokens, width), the contexts one after another.
        starts: shape (num_contexts + 1,), where each context begins, and the number of tokens.
        read: shape (n,), sorted positions among the tokens.
        blocks: each block's layers: query, key_value, attention_output, attention_norm, widen, narrow, output_norm.
            Their weights are read where they are, so that they are always those of now.
        num_heads: of each block.
        epsilon: of every norm.

    Returns:
        shape (n, width).
    """
    found = library()
    if found is None:
        raise TripleshotError("the native encoder could not be compiled here")
    tokens, starts, read = (values.detach().contiguous() for values in (tokens, starts, read))
    layers = [layer for block in blocks for layer in block]
    weights = [values.detach().contiguous() for layer in layers for values in (layer.weight, layer.bias)]
    states = tokens.new_empty(len(read), tokens.shape[1])
    failed = found.encode(
        tokens.data_ptr(),
        starts.data_ptr(),
        len(starts) - 1,
        read.data_ptr(),
        len(read),
        (ctypes.c_void_p * len(weights))(*(values.data_ptr() for values in weights)),
        len(blocks),
        tokens.shape[1],
        num_heads,
        epsilon,
        states.data_ptr(),
    )
    if failed:
        raise MemoryError("no memory for the native encoder's tiles")
    return states


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled encoder, or None where it cannot be had."""
    loaded = load_library(__name__, "encoder")
    if loaded is not None:
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        loaded.encode.argtypes = (
            *(pointer, pointer, number, pointer, number, pointer),
            *(number, number, number, ctypes.c_float, pointer),
        )
        loaded.encode.restype = ctypes.c_int
    return loaded
