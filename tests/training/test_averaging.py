"""Averages of weights: against a plain reference, in the place of the weights, and resumed to the bit."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage
from tripleshot.training.averaging import EVERY, WeightAverage
from tripleshot.training.checkpoints import load_weights, save_weights
from tripleshot.training.trainer import Trainer, TrainerOptions

DECAY = 0.98


class Small(nn.Module):
    """A sparse table, a dense layer, and a weight that never learns."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rows = nn.Embedding(50, 4, sparse=True)
        self.layer = nn.Linear(4, 1)
        self.still = nn.Parameter(torch.ones(3), requires_grad=False)


class Watched:
    """A training that takes down the weights at each step, those that are validated and those that are kept."""

    def __init__(self, folder, averaging, scores=(0.1, 0.2, 0.3), fails_at=0):
        folder.mkdir(exist_ok=True)
        self.module, self.folder = Small(), folder
        self.steps, self.validated, self.answers = [], [], iter(scores)
        self.fails_at = fails_at
        options = TrainerOptions(validate_every=20, patience=0, checkpoint_every=7, averaging=averaging)
        stages = [
            Stage("first", self.losses, 20, 0.01, "linear", 3),
            Stage("second", self.losses, 60, 0.05, "constant", 3, validates=True),
        ]
        keep = lambda: save_weights(self.module, folder)  # noqa: E731
        self.trainer = Trainer(self.module, stages, folder, 1, self.validate, keep, options, self.told)

    def losses(self, step, rng):
        rows = torch.from_numpy(rng.integers(50, size=8))
        out = self.module.layer(self.module.rows(rows)).squeeze(1)
        return {"fit": (out - rows / 50 + torch.randn(8)).square().mean()}

    def validate(self, *limits):
        self.validated.append(copy.deepcopy(self.module))
        return Validation(np.array([next(self.answers)]), 1)

    def told(self, update):
        self.steps.append((update.stage, update.step, copy.deepcopy(self.module)))
        if update.stage == "second" and update.step == self.fails_at:
            raise RuntimeError("power cut")

    def kept(self):
        module = Small()
        load_weights(module, self.folder)
        return module


def are_equal(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def reference(start, steps, decay):
    """Go through all steps, in double precision."""
    average = [weight.double() for weight in start.parameters()]
    for number, module in enumerate(steps[EVERY - 1 :: EVERY], 1):
        share = max(1 - decay**EVERY, 1 / (1 + number / 3))
        average = [(1 - share) * a + share * b.double() for a, b in zip(average, module.parameters(), strict=True)]
    return average


def test_the_average_of_the_last_stage_is_validated_and_kept(tmp_path):
    watched = Watched(tmp_path / "run", DECAY)
    watched.trainer.run()
    start = next(module for stage, step, module in watched.steps if (stage, step) == ("first", 20))
    steps = [module for stage, _, module in watched.steps if stage == "second"]
    for place, validated in enumerate(watched.validated, 1):
        expected = reference(start, steps[: 20 * place], DECAY)
        for weight, average in zip(validated.parameters(), expected, strict=True):
            torch.testing.assert_close(weight.double(), average, rtol=1e-5, atol=1e-6)
    assert are_equal(watched.kept(), watched.validated[-1])
    assert not are_equal(watched.kept(), watched.module)


def test_the_weights_learn_as_without_an_average(tmp_path):
    plain, watched = Watched(tmp_path / "plain", 0.0), Watched(tmp_path / "run", DECAY)
    plain.trainer.run()
    watched.trainer.run()
    assert are_equal(plain.module, watched.module)
    assert are_equal(plain.kept(), plain.module)


@pytest.mark.parametrize("fails_at", [3, 25, 47])
def test_a_resumed_training_keeps_the_average_of_one_that_was_not_stopped(tmp_path, fails_at):
    whole = Watched(tmp_path / "whole", DECAY)
    whole.trainer.run()
    broken = Watched(tmp_path / "run", DECAY, fails_at=fails_at)
    with pytest.raises(RuntimeError, match="power cut"):
        broken.trainer.run()
    resumed = Watched(tmp_path / "run", DECAY, scores=broken.answers)
    resumed.trainer.run(resume=True)
    assert are_equal(resumed.kept(), whole.kept())
    assert are_equal(resumed.module, whole.module)


def test_only_what_learns_is_averaged():
    module = Small()
    average = WeightAverage(module, DECAY, frozen=list(module.rows.parameters()))
    assert average.values.keys() == {"layer.weight", "layer.bias"}
    assert not WeightAverage(module, 0).values


def test_outside_of_the_block_the_weights_are_their_own_again():
    module, before = Small(), Small()
    average = WeightAverage(module, DECAY)
    with torch.no_grad():
        module.layer.weight.add_(1)
    changed = copy.deepcopy(module)
    with average.in_place():
        assert are_equal(module, before)
    assert are_equal(module, changed)
