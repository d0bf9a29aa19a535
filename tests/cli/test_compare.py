import json
import re
from dataclasses import replace

import pytest

from tripleshot.cli.compare import read_shots, show
from tripleshot.errors import InputError
from tripleshot.experiments.comparison_table import make_comparison
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import fast

SMALL = {"width": 16, "num_heads": 2, "max_neighbors": 4, "max_distant": 2, "batch_size": 16, "relations_per_step": 1}


def test_methods_are_compared_and_what_is_finished_is_kept(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(RSCLMethod.presets, "fast", lambda: replace(fast(), **SMALL))
    tiny.save(tmp_path / "tiny")
    words = ("compare", tmp_path / "tiny", "--shots", "3", "--budget", "1s", "--out", tmp_path / "out")
    code, out, _ = run(*words, "--methods", "degree,rscl")
    assert code == 0
    assert "training rscl-3-shot-seed-0" in out
    assert "published" not in out
    document = json.loads((tmp_path / "out" / "compare-3-shot.json").read_text())
    assert [row["method"] for row in document["rows"]] == ["degree", "rscl"]
    assert document["machine"]["threads"] == 1
    assert len(document["data_hash"]) == 64
    assert "| `rscl` |" in (tmp_path / "out" / "compare-3-shot.md").read_text()
    assert (tmp_path / "out" / "compare-3-shot.png").exists()
    code, out, _ = run(*words, "--methods", "degree,linked,rscl")
    assert code == 0
    assert "training" not in out.partition("tiny test")[0]
    rows = json.loads((tmp_path / "out" / "compare-3-shot.json").read_text())["rows"]
    assert [row["method"] for row in rows] == ["degree", "linked", "rscl"]
    assert rows[-1]["seeds"] == document["rows"][-1]["seeds"]


def test_several_budgets_show_what_more_time_brings(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(RSCLMethod.presets, "fast", lambda: replace(fast(), **SMALL))
    tiny.save(tmp_path / "tiny")
    out = tmp_path / "out"
    words = ("compare", tmp_path / "tiny", "--shots", "3", "--methods", "degree,rscl", "--out", out)
    assert run(*words, "--budget", "2s")[0] == 0
    code, shown, _ = run(*words, "--budget", "1s", "2s")
    assert code == 0
    assert shown.count("training rscl-3-shot-seed-0") == 1
    assert re.search(r"method +untrained +1s +2s", shown)
    document = json.loads((out / "over-time-3-shot.json").read_text())
    assert document["budgets"] == [1.0, 2.0]
    degree, rscl = document["rows"]
    assert "points" not in degree
    assert [point["budget"] for point in rscl["points"]] == [1.0, 2.0]
    results = [
        json.loads((folder / "runs/rscl-3-shot-seed-0/result.json").read_text()) for folder in (out / "after-1s", out)
    ]
    assert [point["mrr"] for point in rscl["points"]] == [result["micro"]["mrr"] for result in results]
    assert not (out / "after-1s/runs/degree-3-shot-seed-0").exists()
    assert "| `rscl` |  | " in (out / "over-time-3-shot.md").read_text()
    assert (out / "over-time-3-shot.png").exists()


def test_a_wrong_preset_is_found_before_anything_is_trained(run, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    code, _, err = run("compare", tmp_path / "tiny", "--out", tmp_path / "out", "--methods", "rscl", "--preset", "slow")
    assert code == 1
    assert "no preset 'slow'" in err
    assert not (tmp_path / "out").exists()


def test_numbers_of_examples_are_read_from_between_the_commas():
    assert read_shots("1,5") == (1, 5)
    for wrong in ("", "0", "one", "-1", "1,,5"):
        with pytest.raises(InputError, match="--shots"):
            read_shots(wrong)


@pytest.mark.parametrize("columns", [80, 200])
def test_figures_are_readable_in_a_narrow_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    metrics = {"mrr": 0.1234, "hits@10": 0.2345, "hits@5": 0.3456, "hits@1": 0.0123}
    training = {"spent": 1234.0, "parameters": 1000, "pretrained": {"method": "transe", "spent": 540.0}}
    result = {"method": "gana", "seed": 0, "config": {}, "queries": 10, "seconds": 2, "micro": metrics}
    show(make_comparison([{**result, "training": training}], "nell-one", 5, 1800))
    shown = capsys.readouterr().out
    assert re.search(r"gana +\.123 +\.23[45] +\.346 +\.012 +1,234 s +5\.0", shown)
    assert "starts from transe, 540 s more" in shown


def test_in_a_narrow_terminal_spreads_stand_below_the_table(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    seeds = [{"mrr": mrr, "hits@10": 0.5, "hits@5": 0.4, "hits@1": 0.2} for mrr in (0.3, 0.32)]
    results = [
        {"method": "gana", "variant": "a_setting_of_some_length=0.25", "seed": seed, "micro": found}
        | {"config": {}, "queries": 10, "seconds": 2, "training": {"spent": 60.0}}
        for seed, found in enumerate(seeds)
    ]
    show(make_comparison(results, "tiny", 5, 60))
    shown = capsys.readouterr().out
    assert re.search(r"gana@a_.* +\.310 +\.500 +\.400 +\.200 +60 s +5\.0", shown)
    assert "0.25: 2 seeds, MRR ± .014" in shown
