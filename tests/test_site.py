"""The documentation site: its navigation is complete, it names the whole API, and it can be built."""

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import tripleshot as ts
from pages import BLOCK, ROOT, blocks_of, name_of, prose_of
from site_pages import navigation, places_of_pages, text_of
from tripleshot.methods import METHODS

PLACES = places_of_pages()


def test_the_navigation_names_every_page_once_and_no_other():
    assert sorted(navigation()) == sorted(PLACES.values())


@pytest.mark.parametrize("page", PLACES, ids=name_of)
def test_every_page_has_one_title_above_everything_else(page):
    prose = BLOCK.sub("", text_of(page))
    assert prose.startswith("# ")
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1


def test_every_method_has_a_page_with_a_command_and_a_citation():
    pages = {path.stem: path for path in (ROOT / "docs/methods").glob("*.md")}
    assert pages.keys() == {*METHODS, "pykeen"}
    for name, page in pages.items():
        assert any(block.kind == "sh" for block in blocks_of(page)), name
        assert "\n## Citation\n" in prose_of(page), name


def test_the_api_page_names_every_public_name_once():
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: tripleshot\.(\w+)$", text, re.MULTILINE)) == sorted(ts.__all__)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built from the pages as they are."""
    for package in ("zensical", "latex2mathml"):
        pytest.importorskip(package, reason="the extra docs is not installed")
    from build_site import build

    folder = tmp_path_factory.mktemp("built")
    build(folder / "site", folder / "work")
    return folder / "site"


def test_the_site_is_built_without_a_dead_link_or_another_host(site):
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert built == {"404.html", *(place.replace(".md", ".html") for place in PLACES.values())}
    assert "<math" in (site / "methods/transe.html").read_text(encoding="utf-8")
    assert 'id="tripleshot.Predictor.predict"' in (site / "api.html").read_text(encoding="utf-8")


def test_a_site_that_is_opened_as_files_finds_what_is_searched_and_asks_no_other_host(site):
    chromium = os.environ.get("TRIPLESHOT_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium: install Debian's package `chromium`, or set TRIPLESHOT_CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_role("button", name="Search").first.click()
        page.get_by_role("combobox").fill("brier score")
        page.get_by_role("option", name="How far to trust it").click()
        page.wait_for_url("**/how-sure.html*#how-far-to-trust-it")
        browser.close()
    assert {url.partition(":")[0] for url in asked} <= {"file", "data", "blob"}
