from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tripleshot.errors import InputError, TripleshotError
from tripleshot.training.tensor_files import fill_tensors, map_tensors, write_tensors


def some_tensors():
    return {
        "table": torch.randn(5, 3),
        "turned": torch.randn(3, 4).T,
        "count": torch.tensor(7),
        "flags": torch.tensor([True, False, True]),
        "halves": torch.randn(3).to(torch.bfloat16),
        "nothing": torch.empty(0, 4),
    }


def test_what_was_written_is_read_into_tensors_that_are_there(tmp_path: Path):
    tensors = some_tensors()
    write_tensors(tmp_path / "tensors", tensors, {"made": "here"})
    targets = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    places = {name: target.data_ptr() for name, target in targets.items()}
    fill_tensors(tmp_path / "tensors", targets)
    for name, tensor in tensors.items():
        assert torch.equal(targets[name], tensor)
        assert targets[name].data_ptr() == places[name]


def test_the_file_is_one_that_safetensors_reads(tmp_path: Path):
    write_tensors(tmp_path / "tensors", some_tensors(), {"made": "here"})
    mapped, metadata = map_tensors(tmp_path / "tensors")
    assert metadata["made"] == "here"
    assert load_file(tmp_path / "tensors").keys() == mapped.keys() == some_tensors().keys()


def test_what_a_network_learns_can_be_filled(tmp_path: Path):
    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    write_tensors(tmp_path / "tensors", first.state_dict())
    fill_tensors(tmp_path / "tensors", dict(second.named_parameters()))
    assert torch.equal(first.weight, second.weight)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"other": torch.zeros(2)}, "it has no other"),
        ({"table": torch.zeros(2, 3)}, r"table is float32 of shape \(5, 3\), not float32 of shape \(2, 3\)"),
        ({"table": torch.zeros(5, 3, dtype=torch.int64)}, "not int64"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named_and_nothing_is_read(tmp_path: Path, wanted, message):
    write_tensors(tmp_path / "tensors", some_tensors())
    flags = torch.zeros(3, dtype=torch.bool)
    with pytest.raises(InputError, match=message):
        fill_tensors(tmp_path / "tensors", {"flags": flags, **wanted})
    assert not flags.any()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(TripleshotError, match="tensors: cannot be written"):
        write_tensors(tmp_path / "file" / "tensors", some_tensors())
