"""Reports: how claims are checked, how reports are written and read again."""

import json

import pytest

from experiments.paper.documents import STUDIED, collected, result
from tripleshot.experiments.paper.ablation import ablation_report
from tripleshot.experiments.paper.cases import cases_report
from tripleshot.experiments.paper.lambda_study import curves_report, label_at, lambda_report
from tripleshot.experiments.paper.long_tail import long_tail_report
from tripleshot.experiments.paper.main_table import ROWS, main_report
from tripleshot.experiments.paper.report import (
    Inequality,
    Report,
    against_best,
    as_markdown,
    check_claim,
    find_report,
    read_reports,
    write_report,
    write_reports,
)
from tripleshot.experiments.variants import LAMBDAS

REPORTS = {
    "main": lambda given: main_report(given),
    "ablation": lambda given: ablation_report(given),
    "lambda": lambda given: lambda_report(given),
    "curves": lambda given: curves_report(given),
    "long-tail": lambda given: long_tail_report(given),
    "cases": lambda given: cases_report(given),
}


def test_a_claim_needs_all_its_figures_to_hold_and_one_to_fall():
    assert check_claim("", [Inequality("a", 0.2, 0.1), Inequality("b", 0.3, 0.1)]).verdict == "held"
    assert check_claim("", [Inequality("a", 0.2, 0.1), Inequality("b", None, 0.1)]).verdict == "not known yet"
    assert check_claim("", [Inequality("a", 0.1, 0.1), Inequality("b", None, 0.1)]).verdict == "not held"
    assert check_claim("", []).verdict == "not known yet"
    assert check_claim("", [Inequality("a", 0.1001, 0.1)]).verdict == "not held"
    assert check_claim("", [against_best("a", 0.2, {"b": 0.1, "c": 0.15})]).detail == "a, c: .200 against .150"
    assert check_claim("", [against_best("a", 0.2, {"b": 0.1, "c": None})]).verdict == "not known yet"
    assert check_claim("", [against_best("a", 0.2, {"b": 0.3, "c": None})]).verdict == "not held"
    assert check_claim("", [Inequality("a", 0.2, 0.1)]).detail == "a: .200 against .100"


def test_a_report_is_found_in_a_file_of_its_own_or_among_all_reports(tmp_path):
    write_reports([Report("ablation", "packed"), Report("search", "packed")], tmp_path / "above")
    write_report(Report("ablation", "single"), tmp_path / "out")
    folders = [tmp_path / "out", tmp_path / "above"]
    assert [getattr(find_report(name, folders), "title", None) for name in ("ablation", "search", "cases")] == [
        "single",
        "packed",
        None,
    ]


def test_a_table_without_a_row_is_no_table(tiny):
    found = [result("rscl", 0.3)]
    assert [table.title for table in main_report(collected(tiny, found)).tables] == ["5-shot"]
    assert long_tail_report(collected(tiny, found)).tables[0].title == "methods"
    assert not main_report(collected(tiny)).tables


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
