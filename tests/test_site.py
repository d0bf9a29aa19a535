"""The documentation site: its navigation is complete, it names the whole API, and it can be built."""

import re

import pytest

import tripleshot as ts
from pages import ROOT, name_of, prose_of
from site_pages import navigation, places_of_pages

PLACES = places_of_pages()


def test_the_navigation_names_every_page_once_and_no_other():
    assert sorted(navigation()) == sorted(PLACES.values())


@pytest.mark.parametrize("page", PLACES, ids=name_of)
def test_every_page_has_one_title_above_everything_else(page):
    prose = prose_of(page)
    assert prose.startswith("# ")
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1


def test_the_api_page_names_every_public_name_once():
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: tripleshot\.(\w+)$", text, re.MULTILINE)) == sorted(ts.__all__)


def test_the_site_is_built_without_a_dead_link_or_another_host(tmp_path):
    pytest.importorskip("zensical", reason="the extra docs is not installed")
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    from build_site import build

    build(tmp_path / "site", tmp_path / "work")
    built = {path.name for path in (tmp_path / "site").glob("*.html")}
    assert built == {"404.html", *(place.replace(".md", ".html") for place in PLACES.values())}
    assert "<math" in (tmp_path / "site/embedding.html").read_text(encoding="utf-8")
    assert 'id="tripleshot.Predictor.predict"' in (tmp_path / "site/api.html").read_text(encoding="utf-8")
