import json

import pytest

from tripleshot.experiments.comparison_document import as_document
from tripleshot.experiments.comparison_table import as_markdown, format_metric, lay_out, make_comparison
from tripleshot.experiments.figures import draw_comparison
from tripleshot.training.budget import write_budget


def result(method, mrr, spent=0.0, seed=0, **more):
    training = {"spent": spent, "parameters": 1000, "best": None, "curve": [], **more}
    return {
        "method": method,
        "seed": seed,
        "seconds": 20.0,
        "queries": 50,
        "config": {"regime": "in-train"} if method == "metar" else {},
        "micro": {"mrr": mrr, "hits@10": mrr, "hits@5": mrr, "hits@1": mrr},
        **({"training": training} if spent else {}),
    }


CURVE = [{"step": step, "seconds": step, "spent": 10.0 * step, "valid_mrr": 0.1 * step} for step in (1, 2, 3)]
RESULTS = [
    result("degree", 0.071),
    result("rscl", 0.31, 30.0, curve=CURVE),
    result("metar", 0.25, 30.0, curve=CURVE, pretrained={"method": "transe", "spent": 29.0}),
]


def test_published_figures_stand_beside_ours_only_on_their_own_dataset():
    nell = make_comparison(RESULTS, "nell-one", 5, 30)
    assert [figure.metrics["mrr"] for figure in nell.rows[1].published] == [0.317]
    assert not nell.rows[0].published
    assert "CIAN" in {figure.name for figure in nell.other_published}
    for dataset, shots in (("tiny", 5), ("nell-one", 3)):
        other = make_comparison(RESULTS, dataset, shots, 30)
        assert not any(row.published for row in other.rows)
        assert not other.other_published
        assert not any(line.is_published for line in lay_out(other).lines)


def test_a_method_far_below_its_published_figure_is_named_and_has_its_curve():
    comparison = make_comparison(RESULTS, "nell-one", 5, 30)
    document = as_document(comparison)
    rows = {row["method"]: row for row in document["rows"]}
    assert rows["metar"]["is_far_behind"]
    assert rows["metar"]["behind_published"] == pytest.approx(0.063)
    assert rows["metar"]["seeds"][0]["curve"] == CURVE
    assert not rows["rscl"]["is_far_behind"]
    assert rows["degree"]["behind_published"] is None
    assert ".063 below published" in as_markdown(comparison)
    json.dumps(document)


def test_what_is_not_comparable_is_shown_but_nobody_is_measured_by_it():
    comparison = make_comparison([result("gana", 0.25, 30.0)], "nell-one", 1, 30)
    (row,) = comparison.rows
    assert {figure.metrics["mrr"] for figure in row.published} == {0.254, 0.307}
    assert row.behind == pytest.approx(0.004)
    assert "not comparable [" in as_markdown(comparison)


def test_vectors_that_a_method_started_from_are_named_with_their_time():
    assert "starts from transe, 29 s more" in as_markdown(make_comparison(RESULTS, "tiny", 5, 30))


def test_a_comparison_is_a_table_with_a_row_per_method():
    twice = [*RESULTS, result("rscl", 0.33, 30.0, seed=1)]
    table = make_comparison(twice, "nell-one", 5, 30).to_arrow()
    degree, rscl, _ = table.to_pylist()
    assert (rscl["method"], rscl["seeds"], rscl["seconds"], rscl["weights"]) == ("rscl", 2, 30.0, 1000)
    assert [rscl["mrr"], rscl["mrr_deviation"]] == [pytest.approx(0.32), pytest.approx(0.01414, abs=1e-4)]
    assert (rscl["published_mrr"], degree["published_mrr"], degree["mrr_deviation"]) == (0.317, None, None)
    assert degree["seconds"] == 0
    frame = make_comparison(RESULTS[:1], "tiny", 5, 30).to_pandas()
    assert list(frame.columns) == table.column_names
    assert make_comparison(RESULTS, "tiny", 5, 30).to_polars()["method"].to_list() == ["degree", "rscl", "metar"]


def test_a_comparison_prints_as_a_table():
    title, headings, *rows = str(make_comparison(RESULTS, "tiny", 5, 30)).splitlines()
    assert title == "tiny test, 5-shot, at most 30 s of training"
    assert headings.split() == ["method", "MRR", "Hits@10", "Hits@5", "Hits@1", "training", "answers/s", "weights"]
    assert [row.split()[:2] for row in rows] == [["degree", ".071"], ["rscl", ".310"], ["metar", ".250"]]
    assert rows[2].endswith("starts from transe, 29 s more")
    published = str(make_comparison(RESULTS, "nell-one", 5, 30))
    assert "CIAN" in published
    assert "\n[1] " in published


def test_seeds_are_averaged_and_their_spread_is_shown():
    seeds = [result("rscl", mrr, 30.0, seed) for seed, mrr in enumerate((0.3, 0.32))]
    comparison = make_comparison(seeds, "tiny", 5, 30)
    assert comparison.rows[0].metric("mrr") == pytest.approx(0.31)
    assert ".310 ± .014" in as_markdown(comparison)


def test_a_method_that_does_not_learn_is_a_row_without_training():
    line = lay_out(make_comparison(RESULTS, "tiny", 5, 30)).lines[0]
    assert line.cells == ("degree", ".071", ".071", ".071", ".071", "none", "2.5", "", "")


def test_a_method_that_took_hardly_a_step_says_so():
    few, enough = (
        {**one, "training": {**one["training"], "steps": {"first": 900, "last": count}}}
        for one, count in ((result("rscl", 0.3, 30.0), 7), (result("metar", 0.3, 30.0), 50))
    )
    comparison = make_comparison([few, enough], "tiny", 5, 30)
    assert [line.cells[-1] for line in lay_out(comparison).lines] == ["hardly trained: 7 steps", ""]


def test_shares_are_written_as_papers_do():
    assert [format_metric(value) for value in (0.3174, 1.0, -0.02)] == [".317", "1.000", "-.020"]


def test_a_training_without_a_budget_counts_its_steps_alone(tmp_path):
    curve = [{"step": 1, "seconds": 7.0, "valid_mrr": 0.2}]
    free = {**RESULTS[0], "training": {"seconds": 9.0, "best": None, "curve": curve}}
    comparison = make_comparison([free], "tiny", 5, 30)
    assert comparison.rows[0].seconds == 9.0
    assert as_document(comparison)["rows"][0]["seeds"][0]["curve"] == curve
    draw_comparison(comparison, tmp_path / "compare.png")


def test_budgets_are_named_as_they_are_given():
    assert [write_budget(seconds) for seconds in (1.5, 90, 300, 5400, 3600)] == ["1.5s", "1m30s", "5m", "1h30m", "1h"]
