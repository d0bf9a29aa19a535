import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest

from clocks import SteadyClock
from tripleshot.errors import InputError
from tripleshot.experiments.cells import Plan
from tripleshot.experiments.paper.grid_search import GRID, read_grid, search, search_report, search_rscl, variant_at
from tripleshot.experiments.variants import Variant

SMALL = {"dropout": (0.3, 0.2), "num_layers": (1, 2)}


def value(point):
    return point["dropout"] + point["num_layers"]


def test_the_papers_grid_is_the_default_and_any_setting_can_take_its_place():
    assert read_grid(()) == GRID
    assert read_grid(["margin=1,5", "schedule=linear"]) == {"margin": (1.0, 5.0), "schedule": ("linear",)}
    with pytest.raises(InputError, match="did you mean 'margin'"):
        read_grid(["margn=1"])
    with pytest.raises(InputError, match="SETTING=VALUE"):
        read_grid(["margin"])


def test_a_point_of_the_grid_is_a_variant():
    variant = variant_at({"dropout": 0.2, "use_local": False})
    assert Variant.read(f"rscl@{variant}").changes() == {"dropout": 0.2, "use_local": False}


def test_all_points_are_measured_once_and_the_best_comes_first(tmp_path):
    seen = []
    found = search(SMALL, lambda point: seen.append(point) or value(point), tmp_path / "study.sqlite", "a")
    assert len(found) == len(seen) == 4
    assert found[0] == ({"dropout": 0.3, "num_layers": 2}, 2.3)
    again = search(SMALL, lambda point: seen.append(point) or value(point), tmp_path / "study.sqlite", "a")
    assert (again, len(seen)) == (found, 4)


def test_a_limited_search_goes_on_where_it_was_and_an_interrupted_point_comes_first(tmp_path):
    path = tmp_path / "new" / "study.sqlite"
    assert len(search(SMALL, value, path, "a", limit=1)) == 1
    begun = []

    def interrupt(point):
        begun.append(point)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(SMALL, interrupt, path, "a")
    seen = []
    found = search(SMALL, lambda point: seen.append(point) or value(point), path, "a")
    assert seen[0] == begun[0]
    assert len(found) == 4


class Silent:
    """Shows nothing."""

    def training(self, cell):
        return nullcontext()

    def testing(self, cell):
        return nullcontext()


def test_a_point_is_judged_though_the_budget_is_shorter_than_a_step(tiny, tmp_path, quick_rscl, monkeypatch):
    monkeypatch.setattr("tripleshot.training.budget.time", SteadyClock(10.0))
    plan = Plan("tiny", tmp_path, 1.0, ("rscl",), (3,), preset=quick_rscl)
    points = search_rscl(plan, {"dropout": (0.3,)}, tiny, Silent())
    assert len(points) == 1


def test_a_search_that_cannot_judge_a_point_says_why(tiny, tmp_path, quick_rscl, monkeypatch):
    monkeypatch.setattr("tripleshot.training.budget.time", SteadyClock(10.0))
    plan = Plan("tiny", tmp_path, 1.0, ("rscl",), (3,), preset=quick_rscl)
    with pytest.raises(InputError, match="rscl@steps=0 takes no step that could be judged"):
        search_rscl(plan, {"steps": (0,)}, tiny, Silent())
    with pytest.raises(InputError, match="tiny has no valid tasks to choose on"):
        search_rscl(plan, {"dropout": (0.3,)}, replace(tiny, valid=()), Silent())


def test_another_study_in_the_same_file_starts_anew(tmp_path):
    search(SMALL, value, tmp_path / "study.sqlite", "5 minutes")
    assert len(search({"margin": (1.0, 5.0)}, lambda point: 0.1, tmp_path / "study.sqlite", "other")) == 2


def test_the_report_lists_points_and_says_what_is_left():
    report = search_report([({"dropout": 0.3, "num_layers": 2}, 0.25)], SMALL, "tripleshot paper search tiny")
    assert report.tables[0].rows == (("0.3", "2", ".250"),)
    assert report.missing[0].runs == ("3 of 4 points",)


def test_without_optuna_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"tripleshot\[search\]"):
        search(SMALL, value, tmp_path / "study.sqlite", "a")
