import re
from pathlib import Path

import pytest

from fill_tables import PAGES, RESULTS, filled
from tripleshot.evaluation.results import read_results
from tripleshot.methods import METHODS

ROOT = Path(__file__).parents[1]
STUDIES = [path for path in sorted(RESULTS.glob("*/*.jsonl")) if path.stem != "reports"]
REQUIRED = {"method", "dataset", "shots", "split", "seed", "config", "seconds", "queries", "micro", "version"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_of_figures_comes_from_results(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_result_says_where_it_comes_from(path):
    for document in read_results(path):
        assert document["command"].startswith("tripleshot ")
        assert len(document["commit"]) == 40
        assert len(document["data_hash"]) == 64
        assert document.keys() >= REQUIRED
        assert document["method"] in METHODS
        assert document["dataset"].startswith(path.parent.name)


def test_results_are_few_and_small_files_that_the_readme_beside_them_explains():
    files = [path for path in RESULTS.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl")]
    assert len(files) <= 20
    assert sum(path.stat().st_size for path in files) < 1_500_000
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    for path in files:
        name = path.relative_to(RESULTS).as_posix()
        assert f"`{name}`" in text or path.parent.name == "benchmarks"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*/*.json*")), ids=lambda path: path.stem)
def test_results_have_no_machine_paths(path):
    assert not re.search(r"(?<![\w.])(/(tmp|work|root|home|Users)/|\.\./)", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_image_that_a_page_shows_exists(page):
    for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / image).is_file()
