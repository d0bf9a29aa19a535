import os

import pytest

from tripleshot.errors import InputError
from tripleshot.methods.trainable import find_device

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
