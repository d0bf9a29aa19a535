"""Who follows a training: each point once, also after a crash, and a tracker that fails costs nothing but itself."""

import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from tripleshot.errors import InputError, InputWarning
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage
from tripleshot.training import tracking
from tripleshot.training.checkpoints import save_weights
from tripleshot.training.log import LOG, read_log
from tripleshot.training.tracking import WANDB_ID, following
from tripleshot.training.trainer import Trainer, TrainerOptions
from tripleshot.training.updates import CurvePoint, TrainingUpdate

OPTIONS = TrainerOptions(validate_every=120, patience=0, checkpoint_every=150)
STEPS = [100, 120, 220, 240, 320, 360, 400, 400]  # of all points: losses, and in the second stage validations


class Recorder:
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def log(self, values, step):
        self.told.append((step, values))


class Broken:
    """Fails from the first point on."""

    def __init__(self):
        self.calls = 0

    def log(self, values, step):
        self.calls += 1
        raise ConnectionError("no answer\nfrom the other side")


def train(folder, track, crash_at=None, resume=False):
    """Train a number through two stages, with a crash at a step of the second."""
    torch.manual_seed(0)
    module = nn.Linear(1, 1)

    def losses(step, rng):
        return {"fit": (module(torch.ones(1)) - float(rng.random())).square().sum()}

    def failing(step, rng):
        if step == crash_at:
            raise RuntimeError("crash")
        return losses(step, rng)

    stages = [
        Stage("first", losses, 120, 0.01, "linear", 0),
        Stage("second", failing, 280, 0.01, "linear", 0, validates=True),
    ]
    folder.mkdir(exist_ok=True)
    with following(track, folder=folder) as callback:
        Trainer(
            module,
            stages,
            folder,
            seed=1,
            validate=lambda *limits: Validation(np.array([0.5]), 1),
            keep=lambda: save_weights(module, folder),
            options=OPTIONS,
            callback=callback,
        ).run(resume)


def crash_and_resume(folder, track, track_after):
    """Train with a crash after the last checkpoint, and again to the end."""
    with pytest.raises(RuntimeError, match="crash"):
        train(folder, track, crash_at=230)
    train(folder, track_after, resume=True)


def losses_logged(folder):
    return [row["losses"]["fit"] for row in read_log(folder / LOG) if "losses" in row]


def test_an_object_is_told_every_point_of_the_log_once(tmp_path):
    recorder = Recorder()
    train(tmp_path / "run", recorder)
    assert [step for step, _ in recorder.told] == STEPS
    told = [value for _, values in recorder.told for name, value in values.items() if name != "valid/mrr"]
    assert told == losses_logged(tmp_path / "run")
    assert recorder.told[3] == (240, {"valid/mrr": 0.5})


def test_only_the_first_of_several_processes_tells_anyone(tmp_path, monkeypatch):
    monkeypatch.setattr("tripleshot.training.trainer.rank", lambda: 1)
    recorder = Recorder()
    train(tmp_path / "run", [recorder, f"tensorboard:{tmp_path / 'curves'}"])
    assert recorder.told == []
    assert not (tmp_path / "curves").exists()


def test_a_training_that_crashed_and_was_resumed_continues_the_curve_without_a_point_twice(tmp_path):
    recorder = Recorder()
    crash_and_resume(tmp_path / "run", recorder, recorder)
    assert [step for step, _ in recorder.told] == STEPS


def test_a_training_writes_event_files_that_tensorboard_reads(tmp_path):
    folder = tmp_path / "curves"
    crash_and_resume(tmp_path / "run", f"tensorboard:{folder}", f"tensorboard:{folder}")
    found = EventAccumulator(str(folder)).Reload()
    assert found.Tags()["scalars"] == ["first/fit", "second/fit", "valid/mrr"]
    assert [event.step for event in found.Scalars("first/fit")] == [100, 120]
    assert [event.step for event in found.Scalars("second/fit")] == [220, 320, 400]
    assert [event.step for event in found.Scalars("valid/mrr")] == [240, 360, 400]
    values = [event.value for name in ("first/fit", "second/fit") for event in found.Scalars(name)]
    assert values == pytest.approx(losses_logged(tmp_path / "run"))


def test_who_joins_when_a_training_is_resumed_gets_the_whole_curve_in_tensorboard(tmp_path):
    folder = tmp_path / "curves"
    crash_and_resume(tmp_path / "run", None, f"tensorboard:{folder}")
    found = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in found.Scalars("second/fit")] == [220, 320, 400]


def test_a_tracker_that_fails_is_left_out_with_one_warning_and_the_training_goes_on(tmp_path):
    broken, recorder = Broken(), Recorder()
    with pytest.warns(InputWarning) as warned:
        train(tmp_path / "run", [broken, recorder])
    assert [str(one.message) for one in warned] == ["track[0] no longer follows the training, which goes on: no answer"]
    assert broken.calls == 1
    assert [step for step, _ in recorder.told] == STEPS


def test_where_warnings_are_errors_a_tracker_that_fails_is_logged_instead(tmp_path, caplog):
    train(tmp_path / "run", Broken())
    assert caplog.messages == ["track[0] no longer follows the training, which goes on: no answer"]


def test_a_folder_that_cannot_be_written_costs_the_curve_and_not_the_training(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(InputWarning, match="no longer follows the training"):
        train(tmp_path / "run", f"tensorboard:{tmp_path / 'file'}")
    assert read_log(tmp_path / "run" / LOG)[-1]["finished"] == "second"


def fake_wandb(last_step):
    """Make a module whose runs begin where the service says that they ended."""
    runs = []

    class Run(Recorder):
        def __init__(self, **about):
            super().__init__()
            self.about, self.step, self.is_finished = about, last_step, False
            runs.append(self)

        def log(self, values, step):
            super().log(values, step)
            self.step = step

        def finish(self):
            self.is_finished = True

    return SimpleNamespace(init=Run, Settings=dict, runs=runs, __spec__=True)


def test_a_run_that_is_resumed_goes_on_where_weights_and_biases_has_it(tmp_path, monkeypatch):
    first, second = fake_wandb(0), fake_wandb(321)
    monkeypatch.setitem(sys.modules, "wandb", first)
    with pytest.raises(RuntimeError, match="crash"):
        train(tmp_path / "run", "wandb:capitals", crash_at=230)
    monkeypatch.setitem(sys.modules, "wandb", second)
    train(tmp_path / "run", "wandb:capitals", resume=True)
    (before,), (after,) = first.runs, second.runs
    assert [step for step, _ in before.told] + [step for step, _ in after.told] == STEPS
    assert before.about["id"] == after.about["id"] == json.loads((tmp_path / "run" / WANDB_ID).read_text())["id"]
    assert (before.about["project"], before.about["resume"]) == ("capitals", "allow")
    assert before.is_finished
    assert after.is_finished


def test_without_a_network_weights_and_biases_keeps_the_curve_on_disk(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="the extra wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    train(tmp_path / "run", "wandb:capitals")
    name = json.loads((tmp_path / "run" / WANDB_ID).read_text())["id"]
    (kept,) = tmp_path.glob(f"wandb/offline-run-*/run-{name}.wandb")
    until = time.monotonic() + 30  # a process of its own writes the file
    while not all(name in kept.read_bytes() for name in (b"first/fit", b"second/fit", b"valid/mrr")):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("content", ["{", "[]", '{"id": 7}', '{"id": "a/b"}'])
def test_a_damaged_name_of_a_run_is_replaced(tmp_path, monkeypatch, content):
    fake = fake_wandb(0)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    (tmp_path / WANDB_ID).write_text(content)
    with following("wandb:capitals", folder=tmp_path) as callback:
        assert callback is not None
        callback(TrainingUpdate("first", 10, 1, {}, -1.0, 0.0, 0.0, (CurvePoint("first", 1, {"fit": 1.0}),)))
    assert fake.runs[0].about["id"] == json.loads((tmp_path / WANDB_ID).read_text())["id"]
    assert len(fake.runs[0].about["id"]) == 8


def test_a_notebook_shows_one_picture_that_grows(tmp_path, monkeypatch):
    pictures = []

    def display(drawn, display_id):
        assert display_id
        pictures.append(drawn)
        return SimpleNamespace(update=pictures.append)

    module = SimpleNamespace(display=display, HTML=str, __spec__=True)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    train(tmp_path / "run", "notebook")
    assert len(pictures) > 2
    assert "loss of second" in pictures[-1]
    assert "step 400" in pictures[-1]


def test_other_callbacks_are_told_too_and_without_trackers_they_are_told_directly(tmp_path):
    told, recorder = [], Recorder()
    with following(None, told.append) as callback:
        assert callback == told.append
    with following(recorder, told.append) as callback:
        assert callback is not None
        callback(TrainingUpdate("first", 10, 1, {}, -1.0, 0.0, 0.0))
    assert (len(told), recorder.told) == (1, [])


@pytest.mark.parametrize(
    ("track", "message"),
    [
        ("tensorbord:curves", "'tensorbord' is none of tensorboard, wandb, notebook; did you mean 'tensorboard'"),
        ("tensorboard", "tensorboard needs a folder"),
        ("wandb:", "wandb needs a project"),
        (7, "int has no method log"),
    ],
)
def test_who_cannot_follow_is_named_before_anything_begins(track, message):
    with pytest.raises(InputError, match=message), following([track]):
        pass


@pytest.mark.parametrize(
    ("track", "message"),
    [
        ("tensorboard:curves", r"tensorboard is not installed: pip install 'tripleshot\[tensorboard\]'"),
        ("wandb:capitals", r"wandb is not installed: pip install 'tripleshot\[wandb\]'"),
        ("notebook", "draws in a notebook, and this is none"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_begins(monkeypatch, track, message):
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=message), following(track):
        pass
