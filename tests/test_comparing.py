"""Cells of a comparison: trained once, within the budget, and gone on with after an interruption."""

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tripleshot.comparing import RESULT, Cell, Plan, run_cell
from tripleshot.config import RSCLSettings
from tripleshot.errors import InputError
from tripleshot.methods import METHODS, MethodEntry, load_run
from tripleshot.methods.rscl import RSCLMethod
from tripleshot.run_log import LOG, read_log
from tripleshot.storage import load_config
from tripleshot.training import StoppedError

BUDGET = 1.0
QUICK = RSCLSettings(
    width=16,
    num_layers=1,
    num_heads=2,
    max_neighbors=4,
    max_distant=2,
    batch_size=16,
    pretraining_steps=20,
    pretraining_batch_size=16,
    num_sampled=8,
    steps=40,
    warmup=2,
    validate_every=20,
    patience=0,
    checkpoint_every=10_000,
)
TICK = 0.05  # seconds that pass whenever a training looks at the clock
RSCL = Cell("rscl", 3, 0)


class Recorder:
    """Remembers what was trained and tested; stops a training after some of its steps."""

    def __init__(self, stop_at=None):
        self.trained, self.tested, self.stop_at = [], [], stop_at

    @contextmanager
    def training(self, cell):
        self.trained.append(str(cell))
        yield self

    @contextmanager
    def testing(self, cell):
        self.tested.append(str(cell))
        yield None

    def begin(self, stage, step):
        pass

    def advance(self, step, losses, best_mrr):
        if step == self.stop_at:
            self.stop_at = None
            os.kill(os.getpid(), signal.SIGINT)


class Clock:
    """Passes at the same pace on every machine."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += TICK
        return self.now


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr("tripleshot.training.time", Clock())
    monkeypatch.setitem(RSCLMethod.presets, "quick", lambda: QUICK)
    return Plan("tiny", tmp_path, BUDGET, ("degree", "rscl"), (3,), preset="quick")


def test_every_method_shots_and_seed_is_a_cell_but_what_does_not_learn_needs_no_seeds(plan):
    cells = replace(plan, shots=(1, 5), num_seeds=2).cells()
    assert [str(cell) for cell in cells[:3]] == ["degree-1-shot-seed-0", "rscl-1-shot-seed-0", "rscl-1-shot-seed-1"]
    assert len(cells) == 6


def test_a_cell_is_a_run_within_the_budget_and_a_result(plan, tiny):
    result = run_cell(plan, RSCL, tiny, Recorder())
    assert json.loads((plan.folder(RSCL) / RESULT).read_text()) == json.loads(json.dumps(result))
    training = result["training"]
    assert training["budget"] == BUDGET
    assert training["spent"] == pytest.approx(BUDGET, abs=4 * TICK)
    assert training["curve"]
    assert training["parameters"] > 16 * tiny.graph.num_entities
    assert load_config(plan.folder(RSCL)).budget == BUDGET
    method, _ = load_run(plan.folder(RSCL), tiny)
    task = tiny.test[0]
    assert len(method.score(task.support(3), 0, tiny.candidates(task))) == len(tiny.candidates(task))


def test_what_does_not_learn_is_a_cell_too(plan, tiny):
    recorder = Recorder()
    result = run_cell(plan, Cell("evidence", 3, 0), tiny, recorder)
    assert "training" not in result
    assert not recorder.trained
    assert load_run(plan.folder(Cell("evidence", 3, 0)), tiny)[1].settings == result["config"]


def test_a_finished_cell_is_not_trained_again(plan, tiny):
    result = run_cell(plan, RSCL, tiny, Recorder())
    recorder = Recorder()
    assert run_cell(plan, RSCL, tiny, recorder) == json.loads(json.dumps(result))
    assert (recorder.trained, recorder.tested) == ([], [])


def test_an_interrupted_cell_goes_on_with_the_time_that_it_had_left(plan, tiny):
    with pytest.raises(StoppedError, match="the same command goes on"):
        run_cell(plan, RSCL, tiny, Recorder(stop_at=1))
    assert not (plan.folder(RSCL) / RESULT).exists()
    result = run_cell(plan, RSCL, tiny, Recorder())
    assert result["training"]["spent"] == pytest.approx(BUDGET, abs=4 * TICK)
    rows = read_log(plan.folder(RSCL) / LOG)
    assert [row["finished"] for row in rows if "finished" in row] == ["pre-training", "episodes"]
    assert [row["spent"] for row in rows] == sorted(row["spent"] for row in rows)


def test_a_cell_that_was_trained_but_not_tested_is_only_tested(plan, tiny):
    run_cell(plan, RSCL, tiny, Recorder())
    log = (plan.folder(RSCL) / LOG).read_text()
    (plan.folder(RSCL) / RESULT).unlink()
    run_cell(plan, RSCL, tiny, Recorder())
    assert (plan.folder(RSCL) / LOG).read_text() == log


def test_cells_of_other_conditions_are_refused(plan, tiny):
    run_cell(plan, RSCL, tiny, Recorder())
    with pytest.raises(InputError, match="was given 1 s, not 2 s"):
        run_cell(replace(plan, budget=2.0), RSCL, tiny, Recorder())
    with pytest.raises(InputError, match="was trained with"):
        run_cell(replace(plan, preset="fast"), RSCL, tiny, Recorder())
    with pytest.raises(InputError, match="the weights would not fit"):
        run_cell(plan, RSCL, replace(tiny, test=tiny.test[:1]), Recorder())


def test_vectors_that_a_method_starts_from_are_trained_first_and_counted_apart(plan, tiny, monkeypatch):
    """A second name of RSCL stands for an embedding method: its pre-training is what the other starts from."""
    monkeypatch.setitem(METHODS, "vectors", MethodEntry("embedding", "", "rscl:RSCLMethod", learns=True))
    recorder = Recorder()
    result = run_cell(replace(plan, pretrained={"rscl": "vectors"}), RSCL, tiny, recorder)
    assert recorder.trained == ["vectors-3-shot-seed-0", "rscl-3-shot-seed-0"]
    vectors = json.loads((plan.folder(replace(RSCL, method="vectors")) / RESULT).read_text())
    assert result["training"]["pretrained"]["method"] == "vectors"
    assert result["training"]["pretrained"]["spent"] == vectors["training"]["spent"]
    assert result["config"]["pretrained"].endswith("vectors-3-shot-seed-0")
    with pytest.raises(InputError, match="other vectors"):
        run_cell(plan, RSCL, tiny, Recorder())
