"""Every table and figure of the paper, from made-up results: no training."""

import json
from dataclasses import replace

import pytest

from experiments.paper.documents import result
from tripleshot.experiments.paper.ablation import ablation_report
from tripleshot.experiments.paper.cases import cases_report, count_neighbors, short_names
from tripleshot.experiments.paper.datasets import datasets_report
from tripleshot.experiments.paper.lambda_study import curves_report, label_at, lambda_report
from tripleshot.experiments.paper.long_tail import long_tail_report
from tripleshot.experiments.paper.main_table import ROWS, main_report
from tripleshot.experiments.paper.report import as_markdown, read_reports, write_report
from tripleshot.experiments.paper.results import PaperResults, Results
from tripleshot.experiments.variants import LAMBDAS

NELL = "nell-one"


def collected(dataset, main=(), studies=()):
    main, studies = (Results((tuple(some),)) for some in (main, studies))
    return PaperResults(dataset, main, studies, "h" * 64, ("tiny", "--out", "there"))


def verdicts(report):
    return {claim.text: claim.verdict for claim in report.claims}


ABLATED = {"rscl": 0.3, "rscl@without-distant": 0.28, "rscl@without-global": 0.2, "rscl@without-local": 0.31}
STUDIED = [result(label, mrr, shots) for shots in (1, 5) for label, mrr in ABLATED.items()]
TRAINED = [result(label, 0.1 + 0.01 * place) for place, label in enumerate(ROWS)]


def test_the_dataset_table_has_the_printed_sizes_beside_ours_on_their_own_dataset(tiny):
    assert [row[0] for row in datasets_report(tiny).tables[0].rows] == ["here"]
    (table,) = datasets_report(replace(tiny, name=NELL)).tables
    assert table.rows[0][:5] == ("here", "26", "9", "2", "2")
    assert table.rows[1][:3] == ("printed", "68,545", "358")


def test_the_main_table_has_every_method_with_its_own_printed_figures(tiny):
    report = main_report(collected(replace(tiny, name=NELL), TRAINED), (5,))
    (table,) = report.tables
    rows = {row[0]: row for row in table.rows}
    assert rows["rscl"][1:3] == (".260", ".317")
    assert (rows["metar"][2], rows["metar@pre-train"][2]) == (".261", ".209")
    assert rows["degree"][-1] == "none"
    assert set(verdicts(report).values()) == {"held"}
    assert not report.missing
    assert "faan" in main_report(collected(tiny), (5,)).missing[0].listed()


def test_the_ablation_says_which_parts_help(tiny):
    report = ablation_report(collected(replace(tiny, name=NELL), (), STUDIED))
    assert [table.title for table in report.tables] == ["1-shot", "5-shot"]
    assert [table.rows[1][:3] for table in report.tables] == [
        ("without distant neighbors", ".280", ".234"),
        ("without distant neighbors", ".280", ".284"),
    ]
    assert verdicts(report) == {
        "Distant neighbors help.": "held",
        "The global encoder helps.": "held",
        "The local encoder helps.": "not held",
        "The global encoder alone beats the local one alone.": "held",
    }
    half = ablation_report(collected(tiny, (), STUDIED[:2]))
    assert verdicts(half)["Distant neighbors help."] == "not known yet"
    assert half.missing[0].command.startswith("tripleshot paper ablation")


@pytest.mark.parametrize(("best", "verdict"), [(0.4, "held"), (0.6, "not held")])
def test_lambda_is_best_where_test_is_highest(tiny, best, verdict):
    studied = [result(label_at(share), 0.3 - abs(share - best) / 4, curve=[(10, 0.2)]) for share in LAMBDAS]
    report = lambda_report(collected(tiny, (), studied))
    assert verdicts(report)["Lambda .4 is best."] == verdict
    assert report.tables[0].rows[0] == ("0", f"{0.3 - best / 4:.3f}"[1:], ".200")
    assert verdicts(lambda_report(collected(tiny, (), studied[1:])))["Lambda .4 is best."] == "not known yet"


def test_learning_curves_cross_or_do_not(tiny):
    curves = {0.0: [(10, 0.2), (20, 0.22)], 0.4: [(10, 0.2), (20, 0.3)], 1.0: [(10, 0.1), (20, 0.25)]}
    studied = [result(label_at(share), 0.3, curve=curve) for share, curve in curves.items()]
    report = curves_report(collected(tiny, (), studied))
    assert set(verdicts(report).values()) == {"held"}
    assert report.data["1"] == curves[1.0]
    assert set(verdicts(curves_report(collected(tiny))).values()) == {"not known yet"}
    assert not curves_report(collected(tiny)).pictures


def test_the_long_tail_has_methods_and_variants_apart(tiny):
    report = long_tail_report(collected(replace(tiny, name=NELL), TRAINED, STUDIED))
    methods, variants = ({row[0]: row for row in table.rows} for table in report.tables)
    assert methods["rscl"][1:3] == (".130", ".347")
    assert variants["without global encoder"][1:3] == (".100", ".238")
    assert variants["full model"][-1] == "12"
    assert verdicts(report)["On the long tail the full model is above its three variants."] == "not held"
    assert len(long_tail_report(collected(tiny)).missing) == 2


def test_cases_count_neighbors_of_the_examples_and_relations_that_rscl_wins(tiny):
    names = [task.name for task in tiny.test]
    ours = [
        result("rscl", 0.3, relations={names[0]: 0.3, names[1]: 0.5}),
        result("faan", 0.3, relations=dict.fromkeys(names, 0.4)),
    ]
    report = cases_report(collected(tiny, ours))
    assert report.tables[0].rows[0][0] == names[0]
    assert verdicts(report) == {next(iter(verdicts(report))): "not held"}
    assert report.claims[0].detail == "On 1 of 2, by MRR."
    counts = count_neighbors(tiny, tiny.test[0], 5)
    support = tiny.test[0].support(5)
    assert counts.heads == pytest.approx(tiny.graph.num_neighbors[support[:, 0]].mean())


def test_a_table_without_a_row_is_no_table(tiny):
    found = [result("rscl", 0.3)]
    assert [table.title for table in main_report(collected(tiny, found)).tables] == ["5-shot"]
    assert long_tail_report(collected(tiny, found)).tables[0].title == "methods"
    assert not main_report(collected(tiny)).tables


def test_relations_are_called_without_namespaces_unless_they_would_be_called_the_same(tiny):
    def called(*names):
        tasks = tuple(replace(task, name=name, label="") for task, name in zip(tiny.test, names, strict=False))
        return short_names(replace(tiny, test=tasks))

    assert called("concept:of:born", "concept:died") == ["born", "died"]
    assert called("one:born", "two:born") == ["one:born", "two:born"]


REPORTS = {
    "main": lambda given: main_report(given),
    "ablation": lambda given: ablation_report(given),
    "lambda": lambda given: lambda_report(given),
    "curves": lambda given: curves_report(given),
    "long-tail": lambda given: long_tail_report(given),
    "cases": lambda given: cases_report(given),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_json_markdown_png_and_pdf_and_can_be_read_again(tiny, tmp_path, name):
    relations = {task.name: 0.4 for task in tiny.test}
    curve = [(10, 0.1), (20, 0.2)]
    trained = [result(label, 0.2, shots, curve=curve, relations=relations) for shots in (1, 5) for label in ROWS]
    studied = [result(label_at(share), 0.2, curve=curve) for share in LAMBDAS]
    report = REPORTS[name](collected(tiny, trained, [*STUDIED[:6], *studied[:1], *studied[3:]]))
    write_report(report, tmp_path)
    document = json.loads((tmp_path / f"{name}.json").read_text())
    assert document["machine"]["cores"]
    assert report.pictures
    for picture in report.pictures:
        assert (tmp_path / f"{picture.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{picture.stem}.pdf").read_bytes().startswith(b"%PDF")
    (again,) = read_reports(tmp_path / f"{name}.json")
    assert as_markdown(again) == as_markdown(report) == (tmp_path / f"{name}.md").read_text()


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_without_results_says_what_is_missing(tiny, name):
    report = REPORTS[name](collected(tiny))
    assert report.missing[0].command.startswith("tripleshot paper ")
    assert all(claim.verdict == "not known yet" for claim in report.claims)
    assert not report.pictures
