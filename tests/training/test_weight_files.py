"""Weights of a file, as arrays and as tensors."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tripleshot.errors import InputError
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.checkpoints import save_weights
from tripleshot.training.weight_files import read_weights


def test_arrays_are_the_tensors_to_the_bit(tmp_path: Path):
    module = nn.Linear(3, 2)
    save_weights(module, tmp_path)
    tensors, arrays = read_weights(tmp_path / WEIGHTS), read_weights(tmp_path / WEIGHTS, "np")
    assert tensors.keys() == arrays.keys() == {"weight", "bias"}
    assert torch.equal(tensors["weight"], module.weight)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, tensors[name].numpy(), strict=True)


@pytest.mark.parametrize("framework", ["np", "pt"])
def test_weights_that_cannot_be_read_are_named(tmp_path: Path, framework):
    with pytest.raises(InputError, match=f"{WEIGHTS}: not readable as weights"):
        read_weights(tmp_path / WEIGHTS, framework)
    (tmp_path / WEIGHTS).write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=f"{WEIGHTS}: not readable as weights"):
        read_weights(tmp_path / WEIGHTS, framework)


@pytest.mark.parametrize("framework", ["np", "pt"])
def test_every_flipped_bit_of_the_weights_is_noticed(tmp_path: Path, framework):
    save_weights(nn.Linear(3, 2), tmp_path)
    path = tmp_path / WEIGHTS
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    for place in range(start, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        with pytest.raises(InputError, match=f"{WEIGHTS}: changed since it was written"):
            read_weights(path, framework)


def test_weights_that_were_written_without_a_checksum_are_read(tmp_path: Path):
    save_file({"weight": torch.ones(2)}, tmp_path / WEIGHTS)
    assert read_weights(tmp_path / WEIGHTS)["weight"].tolist() == [1, 1]
