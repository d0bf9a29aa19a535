import os

import numpy as np
import pytest

from tripleshot.errors import InputError
from tripleshot.methods.trainable import TrainedWeights, find_device

CAPACITY = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def test_few_kernels_are_kept_unless_the_environment_says_how_many(monkeypatch):
    monkeypatch.delenv(CAPACITY, raising=False)
    assert find_device("cpu").type == "cpu"
    assert os.environ[CAPACITY] == "32"
    monkeypatch.setenv(CAPACITY, "7")
    find_device("cpu")
    assert os.environ[CAPACITY] == "7"


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="device 'nonsense' cannot be used here"):
        find_device("nonsense")


def test_weights_of_a_part_are_split_from_the_others():
    values = {"part.a": np.zeros(2), "part.b": np.ones(3), "a": np.ones(1)}
    part, others = TrainedWeights.of(values, None, "somewhere").split("part.")
    assert list(part.tensors) == ["a", "b"]
    assert list(others.tensors) == ["a"]
    assert part.tensors["a"].tolist() == [0, 0]
    assert part.source == "somewhere"
