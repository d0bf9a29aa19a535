from tripleshot.experiments.paper.report import (
    Inequality,
    Report,
    against_best,
    check_claim,
    find_report,
    write_report,
    write_reports,
)


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
