"""Weights on disk, read as arrays or as tensors: nobody waits for torch who needs none of it."""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from tripleshot.errors import InputError
from tripleshot.methods.trainable import Framework


def read_weights(path: Path, framework: Framework = "pt") -> dict[str, Any]:
    """Read the weights of a file, by name; tensors are mapped, so that only what is used of them takes memory."""
    try:
        with safe_open(path, framework=framework) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: not readable as weights: {error}") from None
