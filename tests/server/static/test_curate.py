import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from completions import MISSING, ROWS, make_predictor
from server.static.conftest import serving

HOSTILE = "person <img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def people_address():
    """A server of a graph that does not say where some people live; one of them has a hostile name."""
    with serving(make_predictor([*ROWS, (HOSTILE, "works at", "company 1")])) as found:
        yield found


def rows(page: Page):
    return page.locator(".proposals > li")


def proposed(page: Page, relation="lives in") -> Page:
    page.get_by_label("A relation of the graph").fill(relation)
    page.get_by_role("button", name="Propose").click()
    expect(page.locator("#note")).to_contain_text("heads asked about")
    return page


def read_download(download) -> list[list[str]]:
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def test_proposals_are_accepted_and_rejected_and_saved(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html"))
    expect(rows(page)).to_have_count(len(MISSING) + 1)
    page.get_by_role("button", name="Accept person 20 → city 0").click()
    page.get_by_role("button", name="Reject person 21 → city 1").click()
    expect(page.locator("#decided")).to_contain_text("1 accepted, 1 rejected.")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save decisions").click()
    header, *lines = read_download(download)
    assert header == ["head", "relation", "tail", "decision", "confidence", "decided_at"]
    assert [line[:4] for line in lines] == [
        ["person 20", "lives in", "city 0", "accepted"],
        ["person 21", "lives in", "city 1", "rejected"],
    ]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save accepted pairs").click()
    assert read_download(download) == [["head", "tail"], ["person 20", "city 0"]]


def test_decisions_are_taken_by_keyboard_alone_and_stay_in_the_browser(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html"))
    expect(rows(page).first).to_be_focused()
    page.keyboard.press("a")
    expect(rows(page).first).to_have_attribute("data-decision", "accepted")
    expect(rows(page).nth(1)).to_be_focused()
    page.keyboard.press("r")
    page.keyboard.press("ArrowDown")
    expect(rows(page).nth(3)).to_be_focused()
    page.keyboard.press("a")
    page.keyboard.press("ArrowUp")
    expect(rows(page).nth(3)).to_be_focused()
    page.keyboard.press("u")
    expect(rows(page).nth(3)).to_have_attribute("data-decision", "")
    page.reload()
    expect(page.locator("#decided")).to_contain_text("1 accepted, 1 rejected.")
    page.get_by_role("button", name="Forget decisions").click()
    expect(page.locator("#decided")).to_contain_text("None yet.")


def test_what_was_accepted_is_an_example_of_the_next_question(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html"))
    expect(page.locator("#examples li")).to_have_count(10)
    page.get_by_role("button", name="Accept person 20 → city 0").click()
    with page.expect_request(lambda request: '"person 20"' in (request.post_data or "")) as asked:
        page.get_by_role("button", name="Propose").click()
    assert json.loads(asked.value.post_data or "")["examples"][0] == {"head": "person 20", "tail": "city 0"}
    expect(page.locator("#examples li").first).to_have_text("person 20 → city 0")
    expect(rows(page)).to_have_count(len(MISSING))
    page.get_by_role("link", name="Ask with what was accepted").click()
    expect(page.locator("#pairs")).to_contain_text("person 20→city 0")
    expect(page.get_by_label("Name of the relation")).to_have_value("lives in")


def test_decisions_are_loaded_from_a_file(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html"))
    table = "head\trelation\ttail\tdecision\nperson 20\tlives in\tcity 0\trejected\nperson 1\tmet\tperson 2\taccepted\n"
    files = {"name": "decisions.tsv", "mimeType": "text/plain", "buffer": table.encode()}
    page.locator("#file").set_input_files(files)
    expect(page.locator("#decided")).to_contain_text("0 accepted, 1 rejected.")
    expect(page.locator('[data-decision="rejected"]')).to_contain_text("person 20 → city 0")
    page.locator("#file").set_input_files({**files, "buffer": b"nothing of the kind"})
    expect(page.locator("#file-problem")).to_contain_text("The first line has no column “head”")


def test_a_proposal_opens_to_show_why(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html"))
    page.get_by_role("button", name="person 20 → city 0", exact=True).click()
    why = page.get_by_role("region", name="Why city 0 for person 20")
    expect(why).to_contain_text("city 0, mainly because")
    page.get_by_role("button", name="person 20 → city 0", exact=True).click()
    expect(why).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 360])
def test_a_proposal_shows_that_it_opens_and_that_it_is_open(people_address, open_page, width):
    page = proposed(open_page(f"{people_address}curate.html", width=width))
    button = rows(page).first.locator(".triple")
    chevron, words = button.locator(".chevron"), button.locator("span").first
    expect(chevron).to_be_visible()
    place, said = chevron.bounding_box(), words.bounding_box()
    assert place
    assert said
    assert place["x"] >= said["x"] + said["width"]
    assert said["y"] <= place["y"] <= said["y"] + said["height"]
    turned = chevron.evaluate("node => getComputedStyle(node).transform")
    page.keyboard.press("w")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(chevron).not_to_have_css("transform", turned)
    page.keyboard.press("w")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(chevron).to_have_css("transform", turned)


def test_a_new_relation_comes_with_its_examples_from_the_page_that_asks(people_address, open_page):
    examples = "&".join(f"from=person {i}&to=city {i % 4}" for i in range(4))
    page = open_page(f"{people_address}#relation=votes in&{examples}")
    expect(page.locator("#pairs li")).to_have_count(4)
    page.get_by_role("link", name="Complete a relation").click()
    expect(page.get_by_label("A relation of the graph")).to_have_value("votes in")
    page.get_by_role("button", name="Propose").click()
    expect(page.locator("#examples li")).to_have_count(4)
    expect(page.get_by_role("heading", name="? — votes in → ?")).to_be_visible()


def test_an_unknown_relation_shows_the_servers_own_sentence(people_address, open_page):
    page = open_page(f"{people_address}curate.html#relation=lives on")
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("alert")).to_contain_text("he graph has no relation 'lives on'")
    expect(page.get_by_text("Nothing proposed yet")).to_be_visible()


def test_a_hostile_name_is_text_and_a_narrow_screen_never_scrolls_sideways(people_address, open_page):
    page = proposed(open_page(f"{people_address}curate.html", width=360))
    expect(rows(page).filter(has_text=HOSTILE)).to_have_count(1)
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_relations_of_the_graph_are_suggested(people_address, open_page):
    page = open_page(f"{people_address}curate.html")
    expect(page.locator("#relations option")).to_have_count(3)
    assert re.match(r"\d+ triples", page.locator("#relations option").first.inner_text())
