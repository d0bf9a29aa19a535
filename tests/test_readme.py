import json
from pathlib import Path

import pytest

from fill_tables import PAGES, filled

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_of_figures_comes_from_results(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


EVALUATIONS = [
    path
    for path in sorted((ROOT / "results").rglob("*-shot.json"))
    if not path.stem.startswith(("compare-", "over-time-"))
]


@pytest.mark.parametrize("path", EVALUATIONS, ids=lambda path: path.stem)
def test_a_result_says_where_it_comes_from(path):
    document = json.loads(path.read_text())
    assert document["command"].startswith("tripleshot evaluate")
    assert len(document["commit"]) == 40
    assert len(document["data_hash"]) == 64
    assert {"method", "dataset", "shots", "split", "seed", "config", "seconds", "queries", "micro"} <= document.keys()
