import json

import pytest

from experiments.paper.documents import result
from tripleshot.evaluation.results import write_json
from tripleshot.experiments.cells import Plan, SilentReporter
from tripleshot.experiments.paper.workflow import PAGE, PaperFolder


@pytest.fixture
def folder(tiny, tmp_path):
    return PaperFolder("tiny", tiny, tmp_path / "here" / "out")


def test_only_methods_without_a_result_are_trained(folder, tiny):
    write_json(result("degree", 0.3, data_hash=tiny.content_hash), folder.out.parent / "degree.json")
    plan = Plan("tiny", folder.out, 1.0, ("degree", "linked"), (5,))
    folder.train_methods(plan, SilentReporter())
    assert [run.name for run in (folder.out / "runs").iterdir()] == ["linked-5-shot-seed-0"]
    assert folder.results().main.of("degree", 5)[0]["micro"]["mrr"] == 0.3


def test_variants_are_kept_apart_from_the_main_table(folder):
    folder.train_variants(Plan("tiny", folder.out, 1.0, ("linked",), (5,)), SilentReporter())
    assert (folder.out / "studies" / "runs" / "linked-5-shot-seed-0").exists()
    assert not (folder.out / "runs").exists()


def test_a_run_is_found_once_it_has_weights(folder):
    assert folder.find_run() is None
    for place in (folder.out / "studies" / "runs" / "rscl-5-shot-seed-0", folder.out / "runs" / "rscl-5-shot-seed-0"):
        place.mkdir(parents=True)
        (place / "config.json").touch()
        assert folder.find_run() != place
        (place / "weights.safetensors").touch()
        assert folder.find_run() == place


def test_the_page_has_every_report_and_names_what_is_missing(folder):
    reports = folder.write_page((1, 5))
    assert [report.name for report in reports][-2:] == ["attention", "search"]
    assert all(report.missing for report in reports[1:])
    page = (folder.out / PAGE).read_text()
    assert f"tripleshot paper attention tiny --out {folder.out} --run RUN" in page
    assert json.loads((folder.out / "main.json").read_text())["missing"]
