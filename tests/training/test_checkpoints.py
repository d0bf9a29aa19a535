import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn

from damage import flipped
from tripleshot.errors import InputError
from tripleshot.methods.settings import OptimizerKind
from tripleshot.training.averaging import WeightAverage
from tripleshot.training.checkpoints import (
    TrainingProgress,
    count_weights,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
)
from tripleshot.training.optimization import make_optimizers
from tripleshot.training.random_states import RandomStreams, gather_random_states

NONE = WeightAverage(nn.Module(), 0)


def optimizers_for(module, kind: OptimizerKind = "adam"):
    return lambda stage: make_optimizers(module, kind, 0.1)


def take_step(module, optimizers, rng):
    inputs = torch.from_numpy(rng.normal(size=(4, 3)).astype(np.float32)) + torch.randn(4, 3)
    module(inputs).square().sum().backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


def test_weights_come_back_and_are_counted(tmp_path: Path):
    module, other = nn.Linear(3, 2), nn.Linear(3, 2)
    save_weights(module, tmp_path)
    load_weights(other, tmp_path)
    assert torch.equal(module.weight, other.weight)
    assert count_weights(tmp_path) == 8


def test_weights_of_another_network_are_named(tmp_path: Path):
    save_weights(nn.Linear(3, 2), tmp_path)
    for other in (nn.Linear(4, 2), nn.Linear(3, 2, bias=False)):
        with pytest.raises(InputError, match="belongs to another configuration"):
            load_weights(other, tmp_path)


class Lookup(nn.Module):
    """Some rows of a table with sparse gradients, and a dense layer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 2, sparse=True)
        self.dense = nn.Linear(3, 2)

    @property
    def weight(self):
        return self.table.weight

    def forward(self, inputs):
        return self.table(torch.tensor([1, 5, 1, 8])) + self.dense(inputs)


@pytest.mark.parametrize("kind", ["adam", "adagrad"])
@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 2), Lookup], ids=["dense", "sparse"])
def test_everything_that_the_next_step_depends_on_comes_back(tmp_path: Path, kind, make):
    torch.manual_seed(0)
    module, streams = make(), RandomStreams(0)
    optimizers = optimizers_for(module, kind)(0)
    take_step(module, optimizers, streams.rngs[0])
    progress = TrainingProgress(stage=1, step=7, best_mrr=0.25, loss_sums={"fit": 1.5}, loss_count=3)
    save_checkpoint(tmp_path / "checkpoint", module, NONE, optimizers, gather_random_states(streams), progress)
    take_step(module, optimizers, streams.rngs[0])

    other, other_streams = make(), RandomStreams(9)
    found, restored = load_checkpoint(tmp_path / "checkpoint", other, optimizers_for(other, kind), other_streams)
    take_step(other, found, other_streams.rngs[0])
    assert restored == progress
    assert torch.equal(other.weight, module.weight)
    assert other_streams.rngs[0].random() == streams.rngs[0].random()


def save_untrained(path, module, streams):
    save_checkpoint(path, module, NONE, optimizers_for(module)(0), gather_random_states(streams), TrainingProgress())


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path):
    module, streams = nn.Linear(3, 2), RandomStreams(0)
    save_untrained(tmp_path / "checkpoint", module, streams)
    other = nn.Linear(4, 2)
    with pytest.raises(InputError, match="belongs to another configuration"):
        load_checkpoint(tmp_path / "checkpoint", other, optimizers_for(other), streams)


def test_a_checkpoint_of_another_number_of_processes_is_refused(tmp_path: Path):
    module, streams = nn.Linear(3, 2), RandomStreams(0)
    states = gather_random_states(streams).expand(2, -1)
    save_checkpoint(tmp_path / "checkpoint", module, NONE, optimizers_for(module)(0), states, TrainingProgress())
    with pytest.raises(InputError, match="a training in 2 processes, and goes on in as many, not in one process"):
        load_checkpoint(tmp_path / "checkpoint", module, optimizers_for(module), streams)


def test_a_checkpoint_of_an_earlier_version_goes_on(tmp_path: Path):
    module, rng, other = nn.Linear(3, 2), np.random.default_rng(7), RandomStreams(0)
    tensors = {f"module.{name}": value for name, value in module.state_dict().items()}
    header = {"progress": {"step": 3}, "numpy": rng.bit_generator.state}
    save_file({**tensors, "torch": torch.get_rng_state()}, tmp_path / "checkpoint", {"state": json.dumps(header)})
    _, progress = load_checkpoint(tmp_path / "checkpoint", module, optimizers_for(module), other)
    assert progress.step == 3
    assert other.rngs[0].random() == rng.random()


@given(place=st.integers(0), cut=st.none() | st.integers(0), is_old=st.booleans())
def test_damage_to_a_checkpoint_is_one_clear_error_or_none_of_its_content(tmp_path_factory, place, cut, is_old):
    path = tmp_path_factory.mktemp("damaged") / "checkpoint"
    module, other, streams = nn.Linear(3, 2), nn.Linear(3, 2), RandomStreams(0)
    save_untrained(path, module, streams)
    content = path.read_bytes()
    if is_old:
        content = content.replace(b'"sha256"', b'"former"')
    header = 8 + int.from_bytes(content[:8], "little")
    path.write_bytes(flipped(content, place % (8 * header))[: cut and cut % len(content)])
    with suppress(InputError):
        load_checkpoint(path, other, optimizers_for(other), streams)
        assert is_old or torch.equal(other.weight, module.weight)
