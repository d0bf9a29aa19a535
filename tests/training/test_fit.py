"""Training into a folder: what a run leaves behind, and what a start that fails does not."""

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tripleshot as ts
from slow_method import Clock, Pace, SlowMethod, make_dataset
from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.calibration import load_calibration
from tripleshot.files.locks import folder_lock
from tripleshot.methods import create_method
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.budget import Stopwatch
from tripleshot.training.fit import calibrate_run, fit, train_run
from tripleshot.training.log import LOG, read_log
from tripleshot.training.runs import CONFIG, VOCABULARY, load_config, load_run

SHOTS = 3
TRANSE = {"width": 8, "batch_size": 32, "num_negatives": 4, "steps": 20, "validate_every": 10}
FAAN = {"width": 16, "max_neighbors": 4, "batch_size": 16, "steps": 20, "validate_every": 10}


def scores(method, dataset):
    task = dataset.test[0]
    return method.score(task.support(SHOTS), int(task.queries(SHOTS)[0, 0]), np.arange(dataset.graph.num_entities))


def stop_after(steps):
    def callback(update):
        if update.step == steps:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize(("name", "settings"), [("transe", TRANSE), ("evidence", None)])
def test_a_run_is_loaded_with_the_scores_that_it_was_left_with(tiny, tmp_path, name, settings):
    trained = train_run(name, tiny, SHOTS, tmp_path / "run", data="tiny", settings=settings)
    method, config = load_run(tmp_path / "run", tiny)
    np.testing.assert_array_equal(scores(method, tiny), scores(trained, tiny))
    assert (config.method, config.shots, config.data, config.budget) == (name, SHOTS, str(Path("tiny").resolve()), 0)
    assert (tmp_path / "run" / VOCABULARY).exists()
    assert (tmp_path / "run" / LOG).exists()


def test_in_memory_a_method_learns_the_same_as_into_a_folder(tiny, tmp_path):
    in_memory = create_method("transe", TRANSE)
    fit(in_memory, tiny, SHOTS)
    np.testing.assert_array_equal(
        scores(in_memory, tiny), scores(train_run("transe", tiny, SHOTS, tmp_path, settings=TRANSE), tiny)
    )


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("transe", {"settings": {**TRANSE, "steps": -1}}, "steps must be 0 or more"),
        ("transe", {"settings": {**TRANSE, "widht": 8}}, "transe has no setting 'widht'; did you mean 'width'"),
        ("transe", {"device": "abacus"}, "device 'abacus' cannot be used here"),
        ("transe", {"shots": 0}, "shots"),
        ("faan", {"settings": {**FAAN, "pretrained": "nowhere"}}, "nowhere: not a run"),
        ("trance", {}, "did you mean 'transe'"),
    ],
)
def test_a_start_that_fails_leaves_no_run_behind_and_can_be_repeated_in_the_same_folder(
    tiny, tmp_path, name, wrong, message
):
    folder = tmp_path / "run"
    given: dict[str, Any] = {"dataset": tiny, "shots": SHOTS, "folder": folder, "settings": TRANSE, **wrong}
    with pytest.raises(InputError, match=message):
        train_run(name, **given)
    assert not (folder / CONFIG).exists()
    with pytest.raises(InputError, match="not a run"):
        load_run(folder, tiny)
    right = "faan" if name == "faan" else "transe"
    train_run(right, tiny, SHOTS, folder, settings=FAAN if right == "faan" else TRANSE)
    assert load_run(folder, tiny)[1].method == right


def test_a_run_is_never_written_over_but_resumed_with_its_own_settings(tiny, tmp_path):
    whole = train_run("transe", tiny, SHOTS, tmp_path / "whole", settings=TRANSE)
    with pytest.raises(KeyboardInterrupt):
        train_run("transe", tiny, SHOTS, tmp_path / "run", settings=TRANSE, callback=stop_after(7))
    with pytest.raises(InputError, match="a run is there already"):
        train_run("transe", tiny, SHOTS, tmp_path / "run", settings=TRANSE)
    resumed = train_run("evidence", tiny, 1, tmp_path / "run", resume=True)
    np.testing.assert_array_equal(scores(resumed, tiny), scores(whole, tiny))
    assert load_config(tmp_path / "run").shots == SHOTS
    other = replace(tiny, test=tiny.test[:1])
    with pytest.raises(InputError, match="would not fit its ids"):
        train_run("transe", other, SHOTS, tmp_path / "run", resume=True)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_training_that_fails_leaves_the_folder_as_it_was(tiny, tmp_path, is_there, monkeypatch):
    folder = tmp_path / "run"
    if is_there:
        folder.mkdir()
        (folder / LOG).write_text("of an earlier run")

    def fail(update):
        raise RuntimeError("out of memory")

    def diverge(update):
        if update.step == 3:
            monkeypatch.setattr("tripleshot.training.batches.math.isfinite", lambda total: False)

    for callback, message in ((fail, "out of memory"), (diverge, "lower the learning rate")):
        settings = {**TRANSE, "checkpoint_every": 20 if callback is fail else 1}
        with pytest.raises((RuntimeError, TripleshotError), match=message):
            train_run("transe", tiny, SHOTS, folder, settings=settings, with_graph=True, callback=callback)
        assert [path.name for path in tmp_path.rglob("*")] == (["run", LOG] if is_there else [])
    if is_there:
        assert (folder / LOG).read_text() == "of an earlier run"
    monkeypatch.undo()
    train_run("transe", tiny, SHOTS, folder, settings=TRANSE)
    assert load_run(folder, tiny)[1].method == "transe"


def test_a_training_that_fails_after_a_checkpoint_can_be_resumed(tiny, tmp_path):
    def fail(update):
        if update.step == 8:
            raise OSError("no space left")

    settings = {**TRANSE, "checkpoint_every": 5}
    with pytest.raises(OSError, match="no space left"):
        train_run("transe", tiny, SHOTS, tmp_path / "run", settings=settings, callback=fail)
    resumed = train_run("transe", tiny, SHOTS, tmp_path / "run", resume=True)
    whole = train_run("transe", tiny, SHOTS, tmp_path / "whole", settings=settings)
    np.testing.assert_array_equal(scores(resumed, tiny), scores(whole, tiny))


def test_a_budget_is_kept_with_the_run(tiny, tmp_path):
    train_run("transe", tiny, SHOTS, tmp_path, settings=TRANSE, budget=0.5)
    assert load_config(tmp_path).budget == 0.5
    assert read_log(tmp_path / LOG)[-1]["spent"] > 0.4


def test_test_tasks_are_never_looked_at(tiny):
    methods = create_method("faan", FAAN), create_method("faan", FAAN)
    for method, dataset in zip(methods, (tiny, replace(tiny, test=())), strict=True):
        fit(method, dataset, SHOTS)
    np.testing.assert_array_equal(scores(methods[0], tiny), scores(methods[1], tiny))


def test_a_training_and_what_became_of_it_is_said_to_the_logger(tiny, tmp_path, caplog):
    caplog.set_level(logging.INFO, "tripleshot")
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    method = train_run("transe", dataset, SHOTS, tmp_path, settings=TRANSE)
    calibrate_run(method, dataset, SHOTS, tmp_path)
    load_run(tmp_path, dataset)
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "training TransE on tiny, 3-shot"
    assert any(text.startswith("the weights of step ") for text in said)
    assert any(text.startswith("calibrated on ") for text in said)
    assert said[-1] == f"loaded transe, 3-shot, from {tmp_path}"


def test_a_run_is_calibrated_on_its_valid_tasks(tiny, tmp_path):
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    method = train_run("evidence", dataset, SHOTS, tmp_path)
    calibration = calibrate_run(method, dataset, SHOTS, tmp_path)
    assert calibration is not None
    assert load_calibration(tmp_path) == calibration
    assert calibrate_run(method, tiny, SHOTS) is None


def train_slowly(pace, folder=None, budget=100.0):
    """Train and calibrate at a pace; return the method, the seconds that it took, and the calibration."""
    clock, dataset = Clock(), make_dataset()
    method, watch = SlowMethod(clock, pace), Stopwatch(calibrates=True, clock=clock)
    fit(method, dataset, SHOTS, folder, budget=budget, watch=watch)
    return method, clock.now, calibrate_run(method, dataset, SHOTS, folder, watch=watch)


@pytest.mark.parametrize(
    "pace",
    [
        Pace(),
        Pace(step=3.0),
        Pace(answer=0.05),
        Pace(answer=2.0),  # a validation of all queries would take ten times the budget
        Pace(preparing=50.0),
        Pace(preparing=50.0, step=2.0, answer=0.5),
    ],
    ids=str,
)
def test_a_budget_is_kept_whatever_is_slow(pace, tmp_path):
    method, _, calibration = train_slowly(pace, tmp_path)
    assert 90 <= method.clock.now <= 110
    assert method.num_steps > 10
    assert (tmp_path / WEIGHTS).exists()
    assert calibration is not None
    assert load_calibration(tmp_path) == calibration
    asked = {row["queries"] for row in read_log(tmp_path / LOG) if "valid_mrr" in row}
    assert len(asked) == 1


def test_a_step_longer_than_the_budget_is_the_only_one(tmp_path):
    method, trained, calibration = train_slowly(Pace(step=300.0), tmp_path)
    assert method.num_steps == 1
    assert trained < 310
    assert calibration is not None
    assert (tmp_path / WEIGHTS).exists()


def test_preparing_longer_than_the_budget_leaves_one_step_and_says_so(tmp_path, caplog):
    method, trained, _ = train_slowly(Pace(preparing=150.0), tmp_path)
    assert method.num_steps == 1
    assert trained < 151
    assert (tmp_path / WEIGHTS).exists()
    assert "only 1 step of learning (preparing took 150 s)" in caplog.text


@pytest.mark.parametrize(("step", "is_said"), [(5.0, True), (1.0, False)])
def test_fewer_than_fifty_steps_are_said_plainly(step, is_said, caplog):
    method, _, _ = train_slowly(Pace(step=step))
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    few = f"a budget of 1m40s was enough for only {method.num_steps} steps of learning"
    assert any(few in text and "take a larger budget or a faster method" in text for text in said) == is_said


def test_few_steps_from_weights_that_were_good_before_are_not_said_to_be_few(caplog):
    class FineTuned(SlowMethod):
        def stages(self):
            return [replace(stage, validates_first=True) for stage in super().stages()]

    clock = Clock()
    method = FineTuned(clock, Pace(step=5.0))
    fit(method, make_dataset(), SHOTS, budget=100.0, watch=Stopwatch(clock=clock))
    assert method.num_steps < 50
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


def test_a_training_by_steps_is_not_said_to_be_short(tiny, caplog):
    fit(create_method("transe", TRANSE), tiny, SHOTS)
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


def test_two_trainings_never_write_into_one_folder(tiny, tmp_path):
    with folder_lock(tmp_path / "run"):
        for resume in (False, True):
            with pytest.raises(InputError, match=rf"run: process {os.getpid()} on .* is writing it"):
                train_run("degree", tiny, 3, tmp_path / "run", resume=resume)
    train_run("degree", tiny, 3, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_a_killed_training_left_half_written_goes_with_the_next_one(tiny, tmp_path):
    train_run("degree", tiny, 3, tmp_path / "run")
    for left in (tmp_path / ".run-a1b2c3d4", tmp_path / "run" / f".{CONFIG}-a1b2c3d4"):
        left.mkdir()
    train_run("degree", tiny, 3, tmp_path / "run", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not list((tmp_path / "run").glob(".*"))


def test_a_training_on_a_dense_graph_goes_on_with_the_network_that_the_graph_made_wider(tmp_path):
    triples = [(f"p{n}", f"relation {step}", f"p{(n + step) % 40}") for step in range(1, 20) for n in range(40)]
    bounds = {"min_triples": 10, "max_triples": 100, "num_valid": 1, "num_test": 1, "overlap_threshold": 1.0}
    dataset = ts.make_dataset(ts.read_graph(triples), **bounds)
    settings = {"pretrained": "universal", "steps": 6, "validate_every": 3, "checkpoint_every": 1, "num_negatives": 16}
    whole = train_run("evidence-net", dataset, SHOTS, tmp_path / "whole", settings=settings)
    with pytest.raises(KeyboardInterrupt):
        train_run("evidence-net", dataset, SHOTS, tmp_path / "run", settings=settings, callback=stop_after(2))
    resumed = train_run("evidence-net", dataset, SHOTS, tmp_path / "run", resume=True)
    assert load_config(tmp_path / "run").settings["hidden_width"] == 96
    np.testing.assert_array_equal(scores(resumed, dataset), scores(whole, dataset))
    np.testing.assert_array_equal(scores(load_run(tmp_path / "run", dataset)[0], dataset), scores(whole, dataset))
