"""Weights of a file, as arrays and as tensors."""

from pathlib import Path

import numpy as np
import pytest
import torch
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
