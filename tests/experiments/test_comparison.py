"""Comparing methods from Python: the same time for each, a table, and nothing left behind unless asked for."""

import json
import tempfile
from typing import Any

import pytest

from tripleshot.errors import InputError
from tripleshot.experiments.cells import Plan
from tripleshot.experiments.comparison import compare, run_budgets, run_plan, write_comparison, write_over_time
from tripleshot.methods.fewshot.metar import MetaRMethod, MetaRSettings

SHOTS = 3
SMALL = {"width": 8, "batch_size": 64, "relations_per_step": 16, "steps": 20, "validate_every": 10}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(MetaRMethod, "presets", {"fast": lambda: MetaRSettings(**SMALL)})


def test_methods_are_compared_with_nothing_left_behind(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    comparison = compare(["evidence", "metar"], tiny, shots=SHOTS, budget="1s")
    assert [row.method for row in comparison.rows] == ["evidence", "metar"]
    assert (comparison.shots, comparison.budget, comparison.split) == (SHOTS, 1, "test")
    assert [path for path in tmp_path.iterdir() if not path.name.startswith("torch")] == []


def test_a_folder_keeps_the_runs_and_the_table_and_what_is_finished_is_not_done_again(tiny, tmp_path):
    first = compare(["degree", "metar"], tiny, shots=SHOTS, budget=1, out=tmp_path, seeds=2)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "degree-3-shot-seed-0",
        "metar-3-shot-seed-0",
        "metar-3-shot-seed-1",
    ]
    document = json.loads((tmp_path / "compare-3-shot.json").read_text())
    assert [row["method"] for row in document["rows"]] == ["degree", "metar"]
    assert document["data_hash"] == tiny.content_hash
    assert "| `metar` |" in (tmp_path / "compare-3-shot.md").read_text()
    assert (tmp_path / "compare-3-shot.png").exists()
    again = compare(["metar", "degree"], tiny, shots=SHOTS, budget=1, out=str(tmp_path), seeds=2)
    assert [row.metric("mrr") for row in again.rows] == [row.metric("mrr") for row in first.rows[::-1]]
    with pytest.raises(InputError, match="was given 1s, not 2s"):
        compare(["metar"], tiny, shots=SHOTS, budget=2, out=tmp_path)


def test_a_dataset_is_found_by_its_folder(tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    found = compare("degree,linked", tmp_path / "tiny", shots=SHOTS, queries=6, split="valid")
    assert [row.results[0]["queries"] for row in found.rows] == [6, 6]
    assert found.split == "valid"


def test_evidence_net_learns_from_scratch_unless_its_variant_says_otherwise(tiny, tmp_path):
    methods = ["evidence-net", "evidence-net@pretrained=universal"]
    found = compare(methods, tiny, shots=SHOTS, budget=1, preset="tiny", out=tmp_path)
    assert [row.results[0]["config"]["pretrained"] for row in found.rows] == ["", "universal"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"methods": ["evidnce"]}, "did you mean 'evidence'"),
        ({"methods": []}, "methods: name at least one"),
        ({"methods": ["metar@widht=3"]}, "did you mean 'width'"),
        ({"dataset": "nowhere"}, "nowhere"),
        ({"shots": 0}, "shots is a number of examples, 1 or more, not 0"),
        ({"shots": 20}, "20 shots leave no query"),
        ({"budget": "soon"}, "budget: a time to train in, such as 20m, 1h30m or 90s, not 'soon'"),
        ({"budget": None}, "budget: a time to train in"),
        ({"seeds": 0}, "seeds must be 1 or more, not 0"),
        ({"queries": -1}, "queries must be 0 or more, not -1"),
        ({"preset": "slow"}, "no preset 'slow'"),
        ({"pretrained": {"metar": "degree"}}, "METHOD=EMBEDDING"),
        ({"split": "dev"}, "split must be one of train, valid, test, not 'dev'"),
        ({"device": "abacus"}, "device 'abacus' cannot be used here"),
    ],
)
def test_wrong_arguments_are_named_and_leave_nothing_behind(tiny, tmp_path, wrong, message):
    given: dict[str, Any] = {"methods": ["metar"], "dataset": tiny, "shots": SHOTS, "budget": 1, **wrong}
    with pytest.raises(InputError, match=message):
        compare(**given, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_budgets_are_several_comparisons_in_folders_of_their_own(tiny, tmp_path):
    plan = Plan("tiny", tmp_path, 1.0, ("degree", "metar"), (SHOTS,))
    ((shorter, longer),) = run_budgets(plan, [0.5, 1.0], tiny)
    assert [row.method for row in shorter.rows] == ["metar"]
    assert [row.method for row in longer.rows] == ["degree", "metar"]
    assert (tmp_path / "after-0.5s" / "runs" / "metar-3-shot-seed-0").exists()
    write_over_time((shorter, longer), tiny, tmp_path)
    document = json.loads((tmp_path / "over-time-3-shot.json").read_text())
    assert document["budgets"] == [0.5, 1.0]
    assert (tmp_path / "over-time-3-shot.png").exists()


def test_each_number_of_examples_is_a_comparison_and_one_about_valid_tasks_says_so(tiny, tmp_path):
    plan = Plan("tiny", tmp_path, 1.0, ("degree",), (1, SHOTS), split="valid")
    comparisons = run_plan(plan, tiny)
    assert [comparison.shots for comparison in comparisons] == [1, SHOTS]
    write_comparison(comparisons[0], tiny, tmp_path)
    assert (tmp_path / "compare-valid-1-shot.md").exists()


def test_workers_rank_the_queries_and_the_result_is_the_same(tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    choices: dict[str, Any] = {"shots": SHOTS, "budget": "1s", "queries": 10}
    here = compare(["evidence"], tmp_path / "tiny", **choices)
    shared = compare(["evidence"], tmp_path / "tiny", workers=2, **choices)
    assert shared.rows[0].metric("mrr") == here.rows[0].metric("mrr")
    with pytest.raises(InputError, match="workers: they read the dataset from a folder or a file"):
        compare(["evidence"], tiny, workers=2, **choices)
