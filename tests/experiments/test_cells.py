"""Cells of a comparison: trained once, within the budget, and gone on with after an interruption."""

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest

from clocks import SteadyClock
from slow_method import make_dataset
from tripleshot.errors import InputError
from tripleshot.evaluation.results import RESULT
from tripleshot.experiments.cells import Cell, Plan, run_cell, variant_of_width
from tripleshot.experiments.comparison_table import make_comparison
from tripleshot.experiments.variants import EVERYTHING
from tripleshot.files.checksums import read_document
from tripleshot.methods import METHODS
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.training.log import LOG, read_log
from tripleshot.training.runs import CONFIG, load_config, load_run
from tripleshot.training.trainer import StoppedError

BUDGET = 1.0
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

    def __call__(self, update):
        if update.step == self.stop_at:
            self.stop_at = None
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def clock(monkeypatch):
    made = SteadyClock(TICK)
    monkeypatch.setattr("tripleshot.training.budget.time", made)
    return made


@pytest.fixture
def plan(tmp_path, clock, quick_rscl):
    return Plan("tiny", tmp_path, BUDGET, ("degree", "rscl"), (3,), preset=quick_rscl)


def test_every_method_shots_and_seed_is_a_cell_but_what_does_not_learn_needs_no_seeds(plan):
    cells = replace(plan, shots=(1, 5), num_seeds=2).cells()
    assert [str(cell) for cell in cells[:3]] == ["degree-1-shot-seed-0", "rscl-1-shot-seed-0", "rscl-1-shot-seed-1"]
    assert len(cells) == 6


def test_a_cell_is_a_run_within_the_budget_and_a_result(plan, tiny):
    result = run_cell(plan, RSCL, tiny, Recorder())
    assert read_document(plan.folder(RSCL) / RESULT) == json.loads(json.dumps(result))
    training = result["training"]
    assert training["budget"] == BUDGET
    assert training["spent"] == pytest.approx(BUDGET, abs=4 * TICK)
    assert training["curve"]
    assert training["parameters"] > 16 * tiny.graph.num_entities
    assert load_config(plan.folder(RSCL)).budget == BUDGET
    method, _ = load_run(plan.folder(RSCL), tiny)
    task = tiny.test[0]
    assert len(method.score(task.support(3), 0, tiny.candidates(task))) == len(tiny.candidates(task))


def test_a_cell_keeps_to_its_budget_though_a_validation_would_take_ten_times_as_long(plan, monkeypatch, clock):
    plan = replace(plan, budget=100.0, split="valid", queries=10)
    clock.tick, score = 0.5, RSCLMethod.score

    def slow_score(self, support, head, tails):
        clock.now += 2
        return score(self, support, head, tails)

    monkeypatch.setattr(RSCLMethod, "score", slow_score)
    result = run_cell(plan, RSCL, make_dataset(), Recorder())
    assert 90 <= result["training"]["spent"] <= 110
    assert {point["queries"] for point in result["training"]["curve"]} <= set(range(1, 6))


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
    with pytest.raises(InputError, match="was given 1s, not 2s"):
        run_cell(replace(plan, budget=2.0), RSCL, tiny, Recorder())
    with pytest.raises(InputError, match="was trained with"):
        run_cell(replace(plan, preset="fast"), RSCL, tiny, Recorder())
    with pytest.raises(InputError, match="the weights would not fit"):
        run_cell(plan, RSCL, replace(tiny, test=tiny.test[:1]), Recorder())


def test_a_setting_that_is_newer_than_a_finished_cell_is_off_in_it(plan, tiny):
    run_cell(plan, RSCL, tiny, Recorder())
    path = plan.folder(RSCL) / CONFIG
    config = read_document(path)
    del config["settings"]["text"]
    path.write_text(json.dumps(config))
    run_cell(plan, RSCL, tiny, Recorder())
    del config["settings"]["width"]
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match="trained with width 100, not 16"):
        run_cell(plan, RSCL, tiny, Recorder())


def test_a_run_of_another_version_is_refused_by_the_names_of_its_settings(plan, tiny):
    run_cell(plan, RSCL, tiny, Recorder())
    path = plan.folder(RSCL) / CONFIG
    config = read_document(path)
    config["settings"]["wisdom"] = 3
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match="another version, with settings that are not known here: wisdom"):
        load_run(plan.folder(RSCL), tiny)


def test_vectors_that_a_method_starts_from_are_trained_first_and_counted_apart(plan, tiny):
    plan, cell, recorder = replace(plan, preset="tiny"), Cell("gmatching", 3, 0), Recorder()
    result = run_cell(replace(plan, pretrained={"gmatching": "transe"}), cell, tiny, recorder)
    assert recorder.trained == ["transe@width=16-3-shot-seed-0", "gmatching-3-shot-seed-0"]
    vectors = json.loads((plan.folder(Cell("transe", 3, 0, "width=16")) / RESULT).read_text())
    assert result["training"]["pretrained"]["method"] == "transe@width=16"
    assert result["training"]["pretrained"]["spent"] == vectors["training"]["spent"]
    assert result["config"]["pretrained"].endswith("transe@width=16-3-shot-seed-0")
    with pytest.raises(InputError, match="other vectors"):
        run_cell(replace(plan, pretrained={}), cell, tiny, Recorder())


def test_a_variant_is_a_cell_of_its_own_with_its_settings_changed(plan, tiny):
    plan = replace(plan, methods=("rscl", "rscl@without-local"))
    whole, variant = plan.cells()
    assert str(variant) == "rscl@without-local-3-shot-seed-0"
    assert plan.settings(whole)["use_local"]
    assert not plan.settings(variant)["use_local"]
    result = run_cell(plan, variant, tiny, Recorder())
    assert (result["method"], result["variant"]) == ("rscl", "without-local")
    assert not load_config(plan.folder(variant)).settings["use_local"]


def test_papers_decide_what_vectors_a_method_starts_from_and_a_variant_may_start_from_others(plan):
    plan = Plan("tiny", plan.out, BUDGET, EVERYTHING, (1, 5))
    starts = {cell.label: plan.settings(cell).get("pretrained") for cell in plan.cells() if METHODS[cell.method].learns}
    assert starts["gmatching"] == starts["fsrl"] == "complex"
    assert starts["faan"] == starts["gana"] == starts["metar@pre-train"] == "transe"
    assert starts["metar"] == starts["rscl"] == ""
    named = replace(plan, pretrained={"faan": "transe"})
    assert named.settings(Cell("faan", 5, 0, "dropout=0.1"))["pretrained"] == "transe"


@pytest.mark.parametrize("variant", ["", "without-distant", "without-global", "without-local"])
def test_variants_of_rscl_can_share_one_pre_training(plan, tiny, variant):
    run_cell(plan, RSCL, tiny, Recorder())
    shared = replace(plan, out=plan.out / "shared", pretrained={"rscl": str(plan.folder(RSCL))})
    result = run_cell(shared, replace(RSCL, variant=variant), tiny, Recorder())
    rows = read_log(shared.folder(replace(RSCL, variant=variant)) / LOG)
    assert [row["finished"] for row in rows if "finished" in row] == ["episodes"]
    assert result["training"]["pretrained"]["method"] == "rscl"
    assert 0 < result["training"]["pretrained"]["spent"] < BUDGET


def test_a_run_without_a_finished_pre_training_cannot_be_started_from(plan, tiny):
    run_cell(plan, replace(RSCL, variant="without-global"), tiny, Recorder())
    start = str(plan.folder(replace(RSCL, variant="without-global")))
    with pytest.raises(InputError, match="pre-training is not over"):
        run_cell(replace(plan, pretrained={"rscl": start}), RSCL, tiny, Recorder())


def test_a_sample_of_the_test_is_the_same_for_every_cell_and_never_mixed_with_another(plan, tiny):
    plan = replace(plan, queries=6)
    result = run_cell(plan, Cell("degree", 3, 0), tiny, Recorder())
    assert (result["sample"], result["queries"]) == (6, 6)
    assert run_cell(plan, Cell("linked", 3, 0), tiny, Recorder())["relations"].keys() == result["relations"].keys()
    with pytest.raises(InputError, match="was asked 6 test queries, not all test queries"):
        run_cell(replace(plan, queries=0), Cell("degree", 3, 0), tiny, Recorder())


def test_valid_tasks_are_asked_about_in_a_folder_of_their_own(plan, tiny):
    result = run_cell(replace(plan, split="valid"), Cell("degree", 3, 0), tiny, Recorder())
    assert result["split"] == "valid"
    assert list(result["relations"]) == [task.name for task in tiny.valid]
    comparison = make_comparison([result], "nell-one", 3, BUDGET, "valid")
    assert (comparison.split, comparison.other_published) == ("valid", ())
    with pytest.raises(InputError, match="was asked all valid queries, not all test queries"):
        run_cell(plan, Cell("degree", 3, 0), tiny, Recorder())


def test_a_preset_of_other_methods_means_fast(plan):
    plan = replace(plan, preset="demo")
    assert plan.settings(Cell("faan", 3, 0)) == replace(plan, preset="fast").settings(Cell("faan", 3, 0))
    with pytest.raises(InputError, match="no preset 'slow'"):
        replace(plan, preset="slow").settings(Cell("faan", 3, 0))


def test_vectors_are_trained_as_wide_as_the_method_that_starts_from_them():
    assert variant_of_width("transe", 100, "fast") == ""
    assert variant_of_width("transe", 60, "fast") == "width=60"
    assert variant_of_width("complex", 100, "demo") == "width=50"
