from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tripleshot.errors import InputError
from tripleshot.methods.settings import OptimizerKind
from tripleshot.training.checkpoints import (
    TrainingProgress,
    count_weights,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
)
from tripleshot.training.optimization import make_optimizers


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
    module, rng = make(), np.random.default_rng(0)
    optimizers = optimizers_for(module, kind)(0)
    take_step(module, optimizers, rng)
    progress = TrainingProgress(stage=1, step=7, best_mrr=0.25, loss_sums={"fit": 1.5}, loss_count=3)
    save_checkpoint(tmp_path / "checkpoint", module, optimizers, rng, progress)
    take_step(module, optimizers, rng)

    other, other_rng = make(), np.random.default_rng(9)
    found, restored = load_checkpoint(tmp_path / "checkpoint", other, optimizers_for(other, kind), other_rng)
    take_step(other, found, other_rng)
    assert restored == progress
    assert torch.equal(other.weight, module.weight)
    assert other_rng.random() == rng.random()


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path):
    module, rng = nn.Linear(3, 2), np.random.default_rng(0)
    save_checkpoint(tmp_path / "checkpoint", module, optimizers_for(module)(0), rng, TrainingProgress())
    other = nn.Linear(4, 2)
    with pytest.raises(InputError, match="belongs to another configuration"):
        load_checkpoint(tmp_path / "checkpoint", other, optimizers_for(other), rng)
