import os
import signal
from datetime import timedelta

import numpy as np
import pytest
import torch
from torch import nn

from tripleshot.errors import InputError
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage
from tripleshot.training.budget import Budget, Stopwatch, read_budget, write_budget
from tripleshot.training.checkpoints import TrainingProgress, save_weights
from tripleshot.training.log import LOG, read_log
from tripleshot.training.trainer import StoppedError, Trainer, TrainerOptions


def no_losses(step, rng):
    return {}


STAGES = [Stage("first", no_losses, 20, 0.1), Stage("second", no_losses, 60, 0.1, validates=True)]


def budget(spent=0.0, seconds=100.0, stage=0, reserved=0.0, step=1, **progress):
    return Budget(STAGES, TrainingProgress(stage=stage, step=step, spent=spent, **progress), 10, seconds, reserved)


def test_without_a_budget_steps_decide():
    assert not budget(step=19, seconds=0, spent=1e6).is_over()
    assert budget(step=20, seconds=0).is_over()
    assert budget(step=30, seconds=0, stage=1).is_time_to_validate()
    assert not budget(step=31, seconds=0, stage=1).is_time_to_validate()


def test_stages_share_a_budget_by_their_steps():
    assert not budget(spent=24.9, step=1000).is_over()
    assert budget(spent=25).is_over()
    assert not budget(spent=25, stage=1, stage_began=25).is_over()
    assert budget(spent=100, stage=1, stage_began=25).is_over()


def test_the_position_in_a_stage_follows_the_share_of_its_time():
    assert budget(spent=12.5).position() == pytest.approx(10)
    assert budget(spent=62.5, stage=1, stage_began=25.0).position() == pytest.approx(30)
    assert budget(spent=500, stage=1, stage_began=25.0).position() == 60


def test_a_stage_that_began_late_goes_through_its_schedule_in_what_is_left():
    assert budget(spent=50, stage=1, stage_began=50.0).position() == 0
    assert budget(spent=75, stage=1, stage_began=50.0).position() == pytest.approx(30)
    assert budget(spent=120, stage=1, stage_began=120.0).is_over()


def test_validations_keep_their_share_of_a_stage():
    """Every 10 of 60 steps is every 12.5 of 75 seconds."""
    assert not budget(spent=37, stage=1, stage_began=25.0).is_time_to_validate()
    assert budget(spent=38, stage=1, stage_began=25.0).is_time_to_validate()
    assert not budget(spent=45, stage=1, stage_began=25.0, validated_at=10.1).is_time_to_validate()
    assert budget(spent=51, stage=1, stage_began=25.0, validated_at=10.1).is_time_to_validate()


def test_stages_share_what_preparing_and_what_comes_after_them_leave():
    kept = {"prepared": 20.0, "reserved": 8.0}
    assert not budget(spent=37.9, stage_began=20.0, **kept).is_over()
    assert budget(spent=38, stage_began=20.0, **kept).is_over()
    assert budget(spent=29, stage_began=20.0, **kept).position() == pytest.approx(10)
    assert budget(spent=92, stage=1, stage_began=38.0, **kept).is_over()


def test_a_validation_may_take_a_share_of_its_stage_and_later_ones_a_little_more():
    first = budget(spent=40, stage=1, stage_began=25.0).validation_time()
    later = budget(spent=40, stage=1, stage_began=25.0, validations=1).validation_time()
    assert 0 < first < later < 0.1 * 75


def test_the_first_validation_comes_while_there_is_time_for_it():
    """The stage is over at 100; its only validation would be there by its interval."""
    one = [Stage("only", no_losses, 60, 0.1, validates=True)]
    at = lambda spent, **progress: Budget(one, TrainingProgress(step=9, spent=spent, **progress), 60, 100.0)  # noqa: E731
    assert not at(93).is_time_to_validate()
    assert at(94).is_time_to_validate()
    assert not at(94, validations=1, validating=1.0, validated_at=56.0).is_time_to_validate()


def test_validations_that_take_too_much_time_wait():
    costly = {"validating": 10.0, "validations": 1, "validated_at": 10.0}
    assert not budget(spent=55, stage=1, stage_began=25.0, **costly).is_time_to_validate()
    assert budget(spent=66, stage=1, stage_began=25.0, **costly).is_time_to_validate()


def test_time_is_left_for_the_last_validation():
    assert budget(spent=96, stage=1, stage_began=25.0, validating=8.0, validations=2).is_over()
    assert not budget(spent=95.9, stage=1, stage_began=25.0, validating=8.0, validations=2).is_over()


def test_a_stage_takes_a_step_however_late_it_is_unless_it_has_none():
    assert not budget(spent=500, step=0).is_over()
    assert budget(spent=500, step=1).is_over()
    assert Budget([Stage("empty", no_losses, 0, 0.1), *STAGES], TrainingProgress(), 10, 100.0).is_over()


def test_time_is_left_for_the_last_checkpoint():
    assert budget(spent=97, stage=1, stage_began=25.0, saving=3.0).is_over()
    assert not budget(spent=96.9, stage=1, stage_began=25.0, saving=3.0).is_over()


def test_a_stopwatch_counts_from_when_it_is_made_or_from_what_was_spent_before():
    clock = Clock()
    clock.now = 50.0
    watch = Stopwatch(clock=clock)
    clock.now += 5
    assert watch.spent() == 5
    watch.go_on_from(30)
    clock.now += 5
    assert watch.spent() == 35
    is_over = watch.limit(10)
    assert not is_over()
    clock.now += 10
    assert is_over()


def test_calibration_has_what_is_reserved_for_it_and_half_of_it_when_training_took_all():
    clock = Clock()
    watch = Stopwatch(200.0, calibrates=True, clock=clock)
    assert watch.reserved == 10
    assert Stopwatch(36_000.0, calibrates=True, clock=clock).reserved == 60
    assert Stopwatch(200.0, clock=clock).reserved == 0
    assert Stopwatch(calibrates=True, clock=clock).calibration_limit() is None
    for begins, asks in ((190, 8), (300, 4)):
        clock.now = begins
        is_over = watch.calibration_limit()
        assert is_over is not None
        clock.now += asks - 0.1
        assert not is_over()
        clock.now += 0.2
        assert is_over()


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("20m", 1200), ("1h30m", 5400), ("90s", 90), ("1.5h", 5400), ("2 m", 120), (45, 45), (timedelta(minutes=2), 120)],
)
def test_a_budget_is_read_from_text_seconds_or_a_timedelta(given, seconds):
    assert read_budget(given) == seconds
    assert read_budget(None) == 0


@pytest.mark.parametrize("wrong", ["", "20", "m", "20 minutes", "0s", "-5m", 0, -1, float("nan"), float("inf")])
def test_what_is_no_time_is_refused_by_the_name_of_the_argument(wrong):
    with pytest.raises(InputError, match="budget: a time to train in"):
        read_budget(wrong)


@pytest.mark.parametrize("text", ["90s", "5m", "1h30m", "1h", "2.5s"])
def test_a_budget_is_written_as_a_person_would_give_it(text):
    seconds = read_budget(text)
    assert read_budget(write_budget(seconds)) == seconds
    assert write_budget(5400) == "1h30m"


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def timed(folder, clock, stop_after=None, seconds_of_validation=3, seconds=40):
    """Return a training in which a step takes one second."""
    folder.mkdir(exist_ok=True)
    module = nn.Linear(3, 1)
    rates = []

    def losses(step, rng):
        clock.now += 1
        rates.append(made.optimizers[0].param_groups[0]["lr"])
        if len(rates) == stop_after:
            os.kill(os.getpid(), signal.SIGINT)
        return {"fit": module(torch.from_numpy(rng.normal(size=(8, 3)).astype(np.float32))).square().mean()}

    def validate(num_heads, is_over):
        clock.now += seconds_of_validation
        return Validation(np.array([0.5]), 1)

    stages = [
        Stage("first", losses, 100, 0.01, "linear", 0),
        Stage("second", losses, 300, 0.01, "linear", 0, validates=True),
    ]
    keep = lambda: save_weights(module, folder)  # noqa: E731
    watch = Stopwatch(seconds, clock=clock)
    made = Trainer(module, stages, folder, 1, validate, keep, TrainerOptions(100, 0, 1000), watch=watch)
    return made, rates


def test_a_budget_is_shared_by_the_stages_and_holds_the_validations(tmp_path, clock):
    made, _ = timed(tmp_path / "run", clock)
    progress = made.run()
    assert progress.finished
    assert clock.now == 40
    log = read_log(tmp_path / "run" / LOG)
    assert [line["spent"] for line in log if "finished" in line] == [10, 40]
    assert [line["spent"] for line in log if "valid_mrr" in line] == [23, 33, 40]
    assert progress.seconds == 31


def test_the_learning_rate_follows_the_budget(tmp_path, clock):
    made, rates = timed(tmp_path / "run", clock)
    made.run()
    np.testing.assert_allclose(rates[:10], 0.01 * (1 - np.arange(10) / 10))
    np.testing.assert_allclose(rates[10:20], 0.01 * (1 - np.arange(10) / 30))
    assert rates[-1] == pytest.approx(0.01 * (1 - 26 / 30))


@pytest.mark.parametrize("stop_after", [4, 15, 20])
def test_a_stopped_training_goes_on_with_the_time_that_it_had_left(tmp_path, clock, stop_after):
    with pytest.raises(StoppedError):
        timed(tmp_path / "run", clock, stop_after=stop_after)[0].run()
    clock.now += 1000
    made, _ = timed(tmp_path / "run", clock)
    progress = made.run(resume=True)
    assert progress.spent == 40
    assert clock.now == 1040
    assert [line["spent"] for line in read_log(tmp_path / "run" / LOG) if "valid_mrr" in line] == [23, 33, 40]


def test_a_callback_is_told_how_much_of_the_budget_is_spent(tmp_path, clock):
    seen = []
    made, rates = timed(tmp_path / "run", clock)
    made.callback = seen.append
    made.run()
    assert len(seen) == len(rates)
    assert (seen[0].spent, seen[0].budget) == (1, 40)
    assert (seen[-1].spent, seen[-1].best_mrr) == (40, 0.5)


def test_what_was_spent_before_the_first_step_counts(tmp_path, clock):
    made, _ = timed(tmp_path / "run", clock)
    clock.now += 20
    progress = made.run()
    assert (progress.prepared, clock.now) == (20, 40)
    log = read_log(tmp_path / "run" / LOG)
    assert [line["spent"] for line in log if "finished" in line] == [25, 40]


def test_preparing_again_is_not_counted_again(tmp_path, clock):
    made, _ = timed(tmp_path / "run", clock, stop_after=4)
    clock.now += 20
    with pytest.raises(StoppedError):
        made.run()
    made, _ = timed(tmp_path / "run", clock)
    clock.now += 20
    assert made.run(resume=True).spent == 40
    assert clock.now == 60


def test_writing_counts_and_is_left_time_for_at_the_end(tmp_path, clock):
    made, _ = timed(tmp_path / "run", clock, seconds=100)
    keep, saves = made.keep, []

    def slow_keep():
        clock.now += 5
        saves.append(clock.now)
        keep()

    made.keep = slow_keep
    made.run()
    assert len(saves) == 2  # before the first validation, and the best
    assert 95 <= clock.now <= 100
