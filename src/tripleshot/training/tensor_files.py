"""Tensors in safetensors files, written and read without a copy of them in memory.

With millions of entities, weights and the moments of their optimizer are most of the memory that there is. A file is
written from where the tensors are, and read into tensors that are there already. A file that is merely mapped would
count as memory of the process as soon as it is copied from.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tripleshot.errors import InputError, TripleshotError
from tripleshot.files.atomic import new_file
from tripleshot.training.weight_files import LENGTH_BYTES, UNSEALED, seal_tensors


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name, with a checksum: whatever happens, the file is the old one or the whole new one."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        with new_file(path) as temporary:
            save_file(contiguous, temporary, {**(metadata or {}), **UNSEALED})
            seal_tensors(temporary)
    except SafetensorError as error:
        raise TripleshotError(f"{path}: cannot be written: {error}") from None


def map_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a file, of which only what is looked at takes memory, and its metadata.

    Raises:
        OSError, SafetensorError: it is not there, or no such file.
    """
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


def fill_tensors(path: Path, targets: Mapping[str, Tensor]) -> None:
    """Read tensors of a file, by name, into tensors of the same shape and type.

    Raises:
        InputError: the file lacks one of them, or has it in another shape or type.
    """
    found, _ = map_tensors(path)
    for name, target in targets.items():
        if name not in found:
            raise InputError(f"{path}: belongs to another configuration: it has no {name}")
        if found[name].shape != target.shape or found[name].dtype != target.dtype:
            sizes = f"{_describe(found[name])}, not {_describe(target)}"
            raise InputError(f"{path}: belongs to another configuration: {name} is {sizes}")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        places = json.loads(file.read(length))
        for name, target in targets.items():
            is_in_place = target.device.type == "cpu" and target.is_contiguous()
            read = target if is_in_place else torch.empty(target.shape, dtype=target.dtype)
            file.seek(LENGTH_BYTES + length + places[name]["data_offsets"][0])
            file.readinto(read.detach().reshape(-1).view(torch.uint8).numpy().data)
            if not is_in_place:
                target.copy_(read)


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
