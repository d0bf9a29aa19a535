"""The encoder in C, about twice as fast as torch where many contexts are scored on a CPU.

It is compiled when it is first needed, with the compiler of the machine, and kept beside the fetched datasets. Without
a compiler, or with TRIPLESHOT_NATIVE=0 in the environment, nothing is said and torch does the work.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor, nn

from tripleshot.atomic import cache_dir, write_file
from tripleshot.errors import TripleshotError

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fPIC")
TARGETS = (("-march=native",), ())  # some compilers cannot ask the machine what it is

Affine = nn.Linear | nn.LayerNorm


def is_ready(tokens: Tensor) -> bool:
    """Tell whether `encode` can take the place of torch for such tokens; compiles it if need be."""
    wanted = os.environ.get("TRIPLESHOT_NATIVE") != "0"
    return wanted and tokens.device.type == "cpu" and tokens.dtype == torch.float32 and library() is not None


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
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return None
    for target in TARGETS:
        try:
            loaded = ctypes.CDLL(str(_build([compiler, *FLAGS, *target])))
        except (OSError, subprocess.CalledProcessError, TripleshotError):
            continue
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        loaded.encode.argtypes = (
            *(pointer, pointer, number, pointer, number, pointer),
            *(number, number, number, ctypes.c_float, pointer),
        )
        loaded.encode.restype = ctypes.c_int
        return loaded
    return None


def _build(command: list[str]) -> Path:
    """Return the library, made before or now; its name tells what it was made from, and what it must contain."""
    source = files(__name__).joinpath("encoder.c").read_bytes()
    abilities = _run([*command, "-dM", "-E", "-x", "c", os.devnull])  # of the compiler and the processor
    key = _digest(source + abilities + repr(command).encode())
    folder = cache_dir() / "native"
    for kept in folder.glob(f"encoder-{key}-*.so"):
        if kept.stem.endswith(_digest(kept.read_bytes())):
            return kept
    with tempfile.TemporaryDirectory() as aside:
        code, made = Path(aside) / "encoder.c", Path(aside) / "encoder.so"
        code.write_bytes(source)
        _run([*command, "-shared", str(code), "-o", str(made), "-lm"])
        content = made.read_bytes()
    path = folder / f"encoder-{key}-{_digest(content)}.so"
    write_file(path, content)
    return path


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
