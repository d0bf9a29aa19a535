import json

import pytest

from clocks import SteadyClock
from experiments.paper.documents import result
from tripleshot.evaluation.results import write_json

TICK = 0.005  # seconds that pass whenever a training looks at the clock
TRAINING = ("--preset", "quick", "--budget", "0.3s", "--queries", "8")


@pytest.fixture
def paper(run, quick_rscl, tiny, tmp_path, monkeypatch):
    """Run `tripleshot paper NAME` on the tiny graph, into the folder `out`."""
    monkeypatch.setattr("tripleshot.training.budget.time", SteadyClock(TICK))
    tiny.save(tmp_path / "tiny")
    return lambda name, *words: run("paper", name, tmp_path / "tiny", "--out", tmp_path / "here" / "out", *words)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "here" / "out"


def test_all_trains_nothing_and_says_what_is_missing(paper, out):
    code, printed, err = paper("all")
    assert (code, err) == (0, "")
    assert "training" not in printed
    page = (out / "index.html").read_text()
    assert "tripleshot paper ablation" in page
    assert not (out / "runs").exists()


def test_variants_are_trained_once_and_shared_by_the_reports_about_them(paper, out):
    code, printed, _ = paper("curves", *TRAINING)
    assert code == 0
    assert "training rscl@lambda-1-5-shot-seed-0" in printed
    code, printed, _ = paper("curves", *TRAINING)
    assert (code, "training" in printed.partition("held")[0]) == (0, False)
    assert json.loads((out / "curves.json").read_text())["data"]["0.4"]
    code, _, err = paper("ablation", "--preset", "quick", "--budget", "2s", "--shots", "5")
    assert code == 1
    assert "was given 0.3s, not 2s; go on with a budget of 0.3s" in err
    paper("all", "--shots", "5")
    lost = json.loads((out / "lambda.json").read_text())["missing"]
    assert lost[0]["runs"] == [f"rscl@lambda-{share}, 5-shot" for share in ("0.2", "0.6", "0.8")]
    assert "--budget 0.3s" in lost[0]["command"]
    page = (out / "index.html").read_text()
    assert page.count("data:image/png") >= 3
    assert json.loads((out / "attention.json").read_text())["data"]["attention"]


def test_the_main_table_takes_results_that_are_there_already(paper, run, out, tmp_path):
    run("evaluate", tmp_path / "tiny", "--method", "degree", "--json", out.parent / "degree-5-shot.json")
    code, _, err = paper("main", "--methods", "degree,linked", "--shots", "5")
    assert (code, err) == (0, "")
    assert [folder.name for folder in (out / "runs").iterdir()] == ["linked-5-shot-seed-0"]
    rows = json.loads((out / "main.json").read_text())["tables"][0]["rows"]
    assert [row[0] for row in rows] == ["degree", "linked"]
    assert "| linked |" in (out / "main.md").read_text()


def test_result_files_alone_are_enough_for_a_report_about_finished_methods(paper, out, tiny):
    relations = {task.name: 0.4 for task in tiny.test}
    for method in ("rscl", "faan"):
        document = result(method, 0.3, relations=relations, data_hash=tiny.content_hash)
        write_json(document, out / "runs" / f"{method}-5-shot-seed-0" / "result.json")
    code, printed, err = paper("cases", "--budget", "9s")
    assert (code, err) == (0, "")
    assert "training" not in printed
    assert (out / "cases.pdf").exists()


def test_the_dataset_is_described(paper, out):
    assert paper("datasets")[0] == 0
    assert (out / "neighbors.png").exists()
    assert (out / "neighbors.pdf").exists()


def test_a_search_measures_some_points_now_and_the_others_later(paper, out):
    words = ("--preset", "quick", "--budget", "0.3s", "--grid", "dropout=0.1,0.2")
    code, printed, _ = paper("search", *words, "--limit", "1")
    assert code == 0
    assert "1 of 2 points" in printed
    code, printed, _ = paper("search", *words)
    assert (code, "missing" in printed) == (0, False)
    assert len(json.loads((out / "search.json").read_text())["data"]["points"]) == 2
    assert not list((out / "search" / "runs").glob("*/result.json"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("attention",), "no RSCL run below it"),
        (("attention", "--run", "nowhere", "--head", "person:1"), "--head, --relation and --tail"),
        (("lambda", "--shots", "1,5"), "one number of examples"),
        (("main", "--methods", "rscl@without-locals"), "did you mean 'without-local'"),
        (("ablation", "--preset", "slow"), "no preset 'slow'"),
        (("ablation", "--start-from", "nowhere"), "not a run"),
    ],
)
def test_mistakes_are_one_clear_line_and_train_nothing(paper, out, words, message):
    code, _, err = paper(*words)
    assert code == 1
    assert message in err
    assert not out.exists()


def test_any_triple_can_be_looked_at(paper, run, out, tmp_path):
    few = ("--steps", 2, "--pretraining-steps", 2)
    run("train", tmp_path / "tiny", tmp_path / "run", "--method", "rscl", "--preset", "quick", *few)
    words = ("--run", tmp_path / "run", "--head", "person:1", "--relation", "works in", "--tail", "city:1")
    code, _, err = paper("attention", *words)
    assert (code, err) == (0, "")
    document = json.loads((out / "attention.json").read_text())
    assert document["data"]["triple"] == ["person:1", "works in", "city:1"]
    assert (out / "attention-map.pdf").exists()
    assert (out / "local-weights.png").exists()
