"""Attention within packed contexts, with gradients, in C: no padding is laid out, and none is computed.

Contexts are short and their heads narrow, which torch's attention is not made for.
`native_code` compiles the C; where it cannot, torch does the work.
"""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from torch import Tensor

from tripleshot.errors import TripleshotError
from tripleshot.methods.native_code import is_wanted, load_library

SOURCES = "tripleshot.methods.rscl.native"


def is_ready(tokens: Tensor) -> bool:
    """Tell whether `attend` can take the place of torch for such tokens; compiles it if need be."""
    return is_wanted() and tokens.device.type == "cpu" and tokens.dtype == torch.float32 and library() is not None


def attend(queries: Tensor, keys_values: Tensor, key_starts: Tensor, query_starts: Tensor, num_heads: int) -> Tensor:
    """Return what each query makes of the values of its own context: shape (num_queries, inner).

    Args:
        queries: shape (num_queries, inner), context by context.
        keys_values: shape (num_tokens, 2 inner), keys and then values of all tokens, context by context.
        key_starts: shape (num_contexts + 1,), where the tokens of each context begin, and their number.
        query_starts: shape (num_contexts + 1,), the same of the queries.
        num_heads: each has its own slice of `inner`.
    """
    return _PackedAttention.apply(queries, keys_values, key_starts, query_starts, num_heads)


class _PackedAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 (torch gives it attributes)
        queries: Tensor,
        keys_values: Tensor,
        key_starts: Tensor,
        query_starts: Tensor,
        num_heads: int,
    ) -> Tensor:
        queries, keys_values = queries.contiguous(), keys_values.contiguous()
        attended, log_sums = torch.empty_like(queries), queries.new_empty(len(queries) * num_heads)
        given = (queries, keys_values, key_starts, query_starts)
        _in_threads(_library().attend, given, num_heads, (attended, log_sums))
        ctx.save_for_backward(*given, log_sums)
        ctx.num_heads = num_heads
        return attended

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 (torch gives it attributes)
        *given, log_sums = ctx.saved_tensors
        found = torch.empty_like(given[0]), torch.empty_like(given[1])
        others = (log_sums, gradients[0].contiguous(), *found)
        _in_threads(_library().attend_backward, tuple(given), ctx.num_heads, others)
        return *found, None, None, None


def _in_threads(
    function: Callable[..., int], given: tuple[Tensor, ...], num_heads: int, others: tuple[Tensor, ...]
) -> None:
    """Share the contexts among as many threads as torch has; each is computed alike in any company."""
    num_contexts, num_threads = len(given[2]) - 1, torch.get_num_threads()
    limits = [num_contexts * part // num_threads for part in range(num_threads + 1)]
    before, after = ([values.data_ptr() for values in tensors] for tensors in (given, others))

    def run(part: int) -> int:
        return function(*before, limits[part], limits[part + 1], num_heads, given[0].shape[1] // num_heads, *after)

    if num_threads == 1:
        failed = [run(0)]
    else:
        with ThreadPoolExecutor(num_threads) as pool:
            failed = list(pool.map(run, range(num_threads)))
    if any(failed):
        raise MemoryError("no memory for attention within a context")


def _library() -> ctypes.CDLL:
    found = library()
    if found is None:
        raise TripleshotError("attention could not be compiled here")
    return found


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled attention, or None where it cannot be had."""
    loaded = load_library(SOURCES, "attention")
    if loaded is not None:
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        given = (pointer,) * 4 + (number,) * 4
        loaded.attend.argtypes = given + (pointer,) * 2
        loaded.attend_backward.argtypes = given + (pointer,) * 4
        loaded.attend.restype = loaded.attend_backward.restype = ctypes.c_int
    return loaded
