import csv
import json
import re
from io import StringIO
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from server.static.conftest import HOSTILE, TOKEN

EXAMPLES = {
    "city/barcelona-es": "sea/mediterranean-sea",
    "city/mumbai-in": "sea/arabian-sea",
    "city/odesa-ua": "sea/black-sea",
}
QUESTION = "&".join(f"from={head}&to={tail}" for head, tail in EXAMPLES.items()) + "&ask=city/baku-az"
EXPLAINED = f"{QUESTION}&why=sea/caspian-sea"
EXPLAIN_REQUEST = {
    "examples": [{"head": head, "tail": tail} for head, tail in EXAMPLES.items()],
    "head": "city/baku-az",
    "tail": "sea/caspian-sea",
}


def head_field(page: Page):
    return page.get_by_role("combobox", name="Head of a new example")


def option(page: Page, text: str):
    return page.get_by_role("option", name=re.compile(f"^{text}"))


def answers(page: Page):
    return page.locator(".answer")


def explanation(page: Page):
    return page.get_by_role("region", name=re.compile("^Why"))


def paste(page: Page, text: str) -> None:
    head_field(page).evaluate(
        """(field, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }""",
        text,
    )


def hold(page: Page, pattern: str) -> list[Route]:
    """Load the page again and hold back requests; each goes on when it is told to."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))
    page.reload()
    return held


def type_and_take(page: Page, text: str) -> None:
    page.keyboard.type(text)
    expect(page.locator("[role=option][aria-selected=true]")).to_be_visible()
    page.keyboard.press("Enter")


def test_a_search_forgives_a_typo(address, open_page):
    page = open_page(address)
    head_field(page).press_sequentially("barcelna")
    expect(option(page, "Barcelona").first).to_be_visible()
    expect(head_field(page)).to_have_attribute("aria-expanded", "true")


def test_arrows_move_through_suggestions_and_escape_closes_them(address, open_page):
    page = open_page(address)
    head_field(page).press_sequentially("san")
    expect(page.get_by_role("option").nth(1)).to_be_visible()
    expect(head_field(page)).to_have_attribute("aria-activedescendant", re.compile("-0$"))
    page.keyboard.press("ArrowDown")
    expect(head_field(page)).to_have_attribute("aria-activedescendant", re.compile("-1$"))
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(head_field(page)).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Escape")
    expect(head_field(page)).to_have_value("")


def test_a_question_is_asked_and_explained_by_keyboard_alone(address, open_page):
    page = open_page(address)
    for _ in range(4):  # past the skip link, the other page and the colours
        page.keyboard.press("Tab")
    page.keyboard.type("lies on")
    page.keyboard.press("Tab")
    expect(head_field(page)).to_be_focused()
    for head, tail in [("Barcelona", "Mediterranean Sea"), ("Odesa", "Black Sea")]:
        type_and_take(page, head)
        type_and_take(page, tail)
    expect(page.locator("#pairs li")).to_have_count(2)
    for _ in range(4):  # past the second field, many at once, and the side that is asked about
        page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Ask about")).to_be_focused()
    type_and_take(page, "Baku")
    page.keyboard.press("Enter")
    expect(answers(page).first).to_be_visible()
    page.get_by_role("button", name="Copy link").press("Tab")
    expect(answers(page).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(explanation(page)).to_contain_text("What spoke for it")
    expect(page.get_by_role("heading", name="Baku — lies on → ?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(explanation(page)).to_have_count(0)
    expect(answers(page).first).to_be_focused()


def test_pasted_lines_become_examples_and_a_wrong_name_gets_a_suggestion(address, open_page):
    page = open_page(address)
    paste(page, "Barcelona | Mediterranean Sea\ncity/odesa-ua\tsea/black-sea\nMumbaii | Arabian Sea\n")
    rows = page.locator("#pairs li")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("Odesa→Black Sea")
    rows.nth(2).get_by_role("button", name="Mumbai", exact=True).click()
    expect(page.locator(".doubt")).to_have_count(0)
    page.get_by_role("button", name="Remove Barcelona → Mediterranean Sea").click()
    expect(rows).to_have_count(2)


def test_scores_are_called_scores_when_there_is_no_confidence(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    expect(answers(page)).to_have_count(10)
    expect(page.get_by_text("Bars show the score")).to_be_visible()
    expect(page.get_by_text("None of them is right")).to_have_count(0)


def test_a_score_is_never_a_zero_with_a_sign(address, open_page):
    page = open_page(address)
    numbers = [-0.0004, -1e-9, 0, 0.0004, -0.0006, -0.25, -100.2]
    write = "async ([name, numbers]) => numbers.map((await import(new URL('elements.js', document.baseURI)))[name])"
    assert page.evaluate(write, ["score", numbers]) == ["0.000", "0.000", "0.000", "0.000", "−0.001", "−0.250", "−100"]
    weights = page.evaluate(write, ["signed", numbers])
    assert weights == ["−0.0004", "−1e-9", "0.00", "+0.0004", "−0.0006", "−0.25", "−100.20"]


def test_answers_have_confidence_and_the_page_says_how_likely_none_of_them_is_right(calibrated_address, open_page):
    page = open_page(f"{calibrated_address}#{QUESTION}")
    expect(answers(page)).to_have_count(10)
    expect(page.get_by_text(re.compile(r"candidates\. None of them is right: \d+(\.\d+)?%\."))).to_be_visible()
    expect(page.get_by_text("Bars show the score")).to_have_count(0)


def test_an_explanation_shows_words_reasons_and_the_neighborhood(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    page.get_by_role("button", name="Caspian Sea").click()
    expect(page.locator(".summary")).to_have_text(re.compile("^Caspian Sea, mainly because examples share the path"))
    expect(explanation(page).get_by_text("What spoke for it")).to_have_count(1)
    expect(page.locator(".reasons li").first).to_have_text(re.compile(r"examples share the path.*\+\d\.\d\d$"))
    expect(page.locator(".picture")).to_have_attribute("data-nodes", "3")
    page.get_by_text("Neighbors as a table").click()
    expect(page.get_by_role("cell", name="Azerbaijan").first).to_be_visible()


def test_attention_is_drawn_and_read_with_the_arrow_keys(attentive_address, open_page):
    page = open_page(f"{attentive_address}#{EXPLAINED}&top=100")
    expect(explanation(page)).to_contain_text("A wider line carries more weight")
    expect(page.locator(".twin")).to_have_count(len(EXAMPLES))
    grid = page.locator(".heat")
    grid.focus()
    page.keyboard.press("ArrowRight")
    expect(explanation(page).get_by_role("status")).to_have_text(re.compile("looks at .*%$"))
    page.get_by_text("Attention as a table").click()
    expect(page.get_by_role("rowheader").first).to_be_visible()


def test_a_link_reproduces_the_view_and_the_history_works(address, open_page):
    first = open_page(address)
    paste(first, "\n".join(f"{head} | {tail}" for head, tail in EXAMPLES.items()))
    first.get_by_role("combobox", name="Ask about").press_sequentially("Baku")
    option(first, "Baku").first.click()
    first.get_by_role("spinbutton", name="Answers").fill("7")
    first.get_by_role("button", name="Ask", exact=True).click()
    first.get_by_role("button", name="Caspian Sea").click()
    expect(explanation(first)).to_contain_text("Caspian Sea, mainly because")
    second = open_page(first.url)
    expect(explanation(second)).to_contain_text("Caspian Sea, mainly because")
    expect(answers(second)).to_have_count(7)
    expect(second.locator("#pairs")).to_contain_text("Barcelona→Mediterranean Sea")
    first.go_back()
    expect(explanation(first)).to_have_count(0)
    expect(answers(first)).to_have_count(7)
    first.go_back()
    expect(first.get_by_text("Nothing asked yet")).to_be_visible()
    first.go_forward()
    first.go_forward()
    expect(explanation(first)).to_contain_text("Caspian Sea, mainly because")


def test_a_link_to_what_is_no_answer_any_more_still_explains_it(address, open_page):
    page = open_page(f"{address}#{QUESTION}&top=1&why=sea/coral-sea")
    expect(page.get_by_role("heading", name="which is not among these answers")).to_be_visible()
    expect(explanation(page)).to_contain_text("Coral Sea, ")


def test_the_link_is_copied(address, open_page):
    page = open_page(f"{address}#{QUESTION}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_colours_follow_the_system_until_a_choice_is_made_and_remembered(address, open_page):
    page = open_page(address, color_scheme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Use light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("fragment", ["", QUESTION, EXPLAINED])
def test_a_narrow_screen_never_scrolls_sideways(address, open_page, fragment):
    page = open_page(f"{address}#{fragment}", width=360)
    if fragment == EXPLAINED:
        expect(page.locator(".picture")).to_have_attribute("data-nodes", re.compile(r"\d"))
    elif fragment:
        expect(answers(page).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_hostile_name_is_shown_as_text(address, open_page):
    page = open_page(f"{address}#{QUESTION}&top=100&why={quote(HOSTILE)}")
    expect(explanation(page)).to_contain_text(f"{HOSTILE}, mainly because")
    expect(page.locator(".picture")).to_have_attribute("data-nodes", re.compile(r"\d"))
    head_field(page).fill(HOSTILE[:40])
    expect(page.get_by_role("option").first).to_contain_text("<script>")
    expect(page).to_have_title("Baku → ? · tripleshot")
    assert page.locator("main script, main img, form script, form img").count() == 0


def test_an_unknown_name_shows_the_servers_own_sentence(address, open_page):
    page = open_page(f"{address}#{QUESTION}&ask=Atlantiss")
    expect(page.get_by_role("alert")).to_contain_text("nknown entity 'Atlantiss'")


def test_an_error_stands_beside_the_form_and_leaves_the_rest_as_it_was(address, open_page):
    page = open_page(address)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("form").get_by_role("alert")).to_contain_text("Give at least one example pair")
    expect(page.get_by_text("Nothing asked yet")).to_be_visible()
    page.get_by_role("button", name="Try an example").click()
    expect(answers(page).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    shown = answers(page).all_inner_texts()
    page.get_by_role("combobox", name="Ask about").fill("Atlantiss")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("form").get_by_role("alert")).to_contain_text("nknown entity 'Atlantiss'")
    assert answers(page).all_inner_texts() == shown
    expect(page.get_by_text("The question has changed")).to_be_visible()


def test_chosen_types_narrow_the_answers(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    page.get_by_label("Among entities").select_option("of chosen types")
    page.get_by_role("combobox", name="Types of answers").press_sequentially("timez")
    page.keyboard.press("Enter")  # sooner than the suggestion
    expect(page.get_by_role("button", name="Remove timezone")).to_be_visible()
    expect(page.get_by_text("The question has changed")).to_be_visible()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("button", name="timezone/").first).to_be_visible()
    assert "among=types&type=timezone" in page.url


def test_a_type_is_taken_though_the_server_says_late_which_there_are(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    held = hold(page, "**/about")
    page.get_by_label("Among entities").select_option("of chosen types")
    page.get_by_role("combobox", name="Types of answers").press_sequentially("timez")
    page.keyboard.press("Enter")
    page.evaluate("new Promise((done) => setTimeout(done, 200))")  # timers are in order: the field has looked types up
    expect(page.get_by_role("button", name="Remove timezone")).to_have_count(0)
    held.pop().continue_()
    expect(page.get_by_role("button", name="Remove timezone")).to_be_visible()


def test_answers_that_arrive_after_a_change_belong_to_the_question_before(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    held = hold(page, "**/answer")
    page.get_by_label("Also list what is known already").check()
    held.pop().continue_()
    expect(answers(page).first).to_be_visible()
    expect(page.get_by_text("The question has changed")).to_be_visible()
    page.get_by_label("Also list what is known already").uncheck()
    expect(page.get_by_text("The question has changed")).to_be_hidden()


def test_a_label_that_has_become_a_name_is_no_change_of_the_question(address, open_page):
    page = open_page(f"{address}#from=Barcelona&to=Mediterranean Sea&ask=Baku")
    expect(answers(page).first).to_be_visible()
    expect(page.locator(".chips li").first).to_have_attribute("title", "city/baku-az")
    expect(page.locator(".pair span").first).to_have_attribute("title", "city/barcelona-es")
    page.get_by_label("Also list what is known already").check()
    expect(page.get_by_text("The question has changed")).to_be_visible()
    page.get_by_label("Also list what is known already").uncheck()
    expect(page.get_by_text("The question has changed")).to_be_hidden()


def test_the_offered_example_is_asked_with_one_click_and_answered_rightly(address, open_page):
    page = open_page(address)
    page.get_by_role("button", name="Try an example").click()
    expect(page.get_by_role("heading", name="Willemstad — lies on the → ?")).to_be_visible()
    expect(answers(page).first).to_contain_text("Caribbean Sea")
    expect(answers(page).first.locator(".tag")).to_have_text("known")
    expect(page.get_by_label("Also list what is known already")).to_be_checked()


def test_a_relation_of_the_graph_is_asked_about_by_its_name_alone(calibrated_address, open_page):
    page = open_page(calibrated_address)
    page.get_by_label("Name of the relation").fill("on_sea")
    page.get_by_role("combobox", name="Ask about").press_sequentially("Baku")
    option(page, "Baku").first.click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Baku — lies on the → ?")).to_be_visible()
    expect(page.get_by_role("button", name="Caspian Sea")).to_have_count(0)
    page.get_by_label("Also list what is known already").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("button", name="Caspian Sea").locator(".tag")).to_have_text("known")
    expect(page.get_by_text("What is known is certain.")).to_be_visible()
    expect(page.get_by_text("None of them is right")).to_have_count(0)
    page.get_by_role("button", name="Caspian Sea").click()
    expect(page.locator(".summary")).to_contain_text("Caspian Sea, ")


def test_a_name_alone_that_the_graph_does_not_have_shows_the_servers_own_sentence(address, open_page):
    page = open_page(f"{address}#relation=on see&ask=city/baku-az")
    expect(page.get_by_role("alert")).to_contain_text("he graph has no relation 'on see' to take examples from")


def test_a_row_shows_that_it_opens(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    first = answers(page).first
    expect(first.locator(".chevron")).to_be_visible()
    expect(first).to_have_attribute("aria-expanded", "false")
    turned = first.locator(".chevron").evaluate("node => getComputedStyle(node).transform")
    first.click()
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(first.locator(".chevron")).not_to_have_css("transform", turned)


def test_headings_stand_over_nothing_that_is_missing(address, attentive_address, open_page):
    page = open_page(f"{address}#{EXPLAINED}")
    expect(page.locator(".summary")).to_be_visible()
    assert explanation(page).locator("h3").all_inner_texts() == ["What spoke for it", "Between Baku and Caspian Sea"]
    page = open_page(f"{attentive_address}#{EXPLAINED}&top=100")
    expect(page.locator(".summary")).to_be_visible()
    titles = ["Between Baku and Caspian Sea", "Examples that mattered", "Attention"]
    assert explanation(page).locator("h3").all_inner_texts() == titles


def test_reasons_for_and_against_look_different_and_the_main_one_is_drawn(network_address, open_page):
    """The order and the numbers on the page are those of the text; a walk of three steps is a line of the picture."""
    page = open_page(f"{network_address}#{EXPLAINED}")
    told = page.request.post(f"{network_address}explain", data=EXPLAIN_REQUEST).json()
    lines = [line.split() for line in told["text"].splitlines() if line.startswith(("  +", "  −"))]
    rows = page.locator(".reasons li")
    expect(rows).to_have_count(len(lines))
    assert [row.rsplit("\n", 1)[-1].strip() for row in rows.all_inner_texts()] == [number for number, *_ in lines]
    signs = [number[0] for number, *_ in lines]
    assert set(signs) == {"+", "−"}
    bars = page.locator(".reasons .bar-fill")
    assert bars.evaluate_all("bars => bars.map(bar => bar.classList.contains('for') ? '+' : '−')") == signs
    main = next(reason for reason in told["reasons"] if reason["paths"])
    walk = next(reason for reason in told["reasons"] if reason["kind"] == "walk")
    assert len(walk["paths"][0]["relations"]) == 3
    picture = page.locator(".picture")
    for path in (*main["paths"], *walk["paths"]):
        for entity in path["entities"]:
            expect(picture).to_have_attribute("aria-label", re.compile(re.escape(entity["label"])))
    expect(picture).to_have_attribute("data-nodes", re.compile(r"\d"))
    drawn = picture.evaluate("box => box._cyreg.cy.edges().map(edge => edge.data('text'))")
    assert all(any(step["label"] in text for text in drawn) for step in walk["paths"][0]["relations"])


def test_no_label_is_cut_at_the_edge_of_the_picture(address, network_address, open_page):
    long_head = QUESTION.replace("city/baku-az", quote(HOSTILE)) + "&why=country/azerbaijan"
    places = [
        (network_address, EXPLAINED, 1280),
        (address, f"{QUESTION}&top=100&why={quote(HOSTILE)}", 1280),
        (address, long_head, 1180),  # the narrowest picture in columns
    ]
    for place, fragment, width in places:
        page = open_page(f"{place}#{fragment}", width=width)
        picture = page.locator(".picture")
        expect(picture).to_have_attribute("data-nodes", re.compile(r"\d"))
        box = picture.evaluate("box => box._cyreg.cy.elements().renderedBoundingBox({includeOverlays: false})")
        size = picture.evaluate("box => [box.clientWidth, box.clientHeight]")
        assert (box["x1"] >= 0, box["y1"] >= 0) == (True, True)
        assert (box["x2"] <= size[0], box["y2"] <= size[1]) == (True, True), (box, size)


def test_heads_are_asked_for_by_their_tail_and_explained(address, open_page):
    page = open_page(address)
    page.get_by_label("Name of the relation").fill("lies on")
    paste(page, "\n".join(f"{head} | {tail}" for head, tail in EXAMPLES.items()))
    page.get_by_label("Which heads?").check()
    page.get_by_role("combobox", name="Ask about").press_sequentially("Caspian")
    option(page, "Caspian Sea").first.click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="? — lies on → Caspian Sea")).to_be_visible()
    expect(answers(page).first).to_contain_text("city/")
    answers(page).first.click()
    expect(page.locator(".summary")).to_contain_text("mainly because")
    assert "which=heads" in page.url
    again = open_page(page.url)
    expect(again.locator(".summary")).to_have_text(page.locator(".summary").inner_text())


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("head\ttail\nBarcelona\tMediterranean Sea\nOdesa\tBlack Sea\n", ""),
        ('Barcelona,Mediterranean Sea\r\n"Odesa","Black Sea"\r\n', ""),
        ("\ufeffsubject,predicate,object\nBarcelona,lies on,Mediterranean Sea\nOdesa,lies on,Black Sea\n", "lies on"),
        ("Barcelona | Mediterranean Sea\n\nOdesa -> Black Sea", ""),
        ("Barcelona;Mediterranean Sea\nOdesa;Black Sea", ""),
    ],
)
def test_a_file_of_examples_is_uploaded(address, open_page, text, relation):
    page = open_page(address)
    page.get_by_text("Paste or upload many").click()
    file = {"name": "examples.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.locator("#file").set_input_files(file)
    rows = page.locator("#pairs li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("Barcelona→Mediterranean Sea")
    expect(rows.nth(1)).to_contain_text("Odesa→Black Sea")
    expect(page.get_by_label("Name of the relation")).to_have_value(relation)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_lines_that_are_no_pair_are_named_by_their_number(address, open_page):
    page = open_page(address)
    page.get_by_text("Paste or upload many").click()
    page.get_by_label("One pair on a line").fill(
        'Barcelona,Mediterranean Sea\n"a name\nof two lines",\nOdesa\na,b,c\nMumbai,Arabian Sea'
    )
    page.get_by_role("button", name="Add these lines").click()
    expect(page.locator("#pairs li")).to_have_count(2)
    told = page.locator("form").get_by_role("alert")
    expect(told).to_contain_text("line 2: a name is missing", ignore_case=True)
    expect(told).to_contain_text("line 4: expected head and tail, found “Odesa” alone")
    expect(told).to_contain_text("line 5: expected head and tail, found 3 columns")


def test_a_long_list_is_cut_to_what_the_server_takes_and_looked_up_a_few_at_a_time(address, open_page):
    page = open_page(address)
    under_way, most = [], [0]
    page.on("request", lambda request: note(request.url, 1))
    page.on("requestfinished", lambda request: note(request.url, -1))

    def note(url: str, change: int) -> None:
        if "/entities" in url:
            under_way.append(change)
            most[0] = max(most[0], sum(under_way))

    page.get_by_text("Paste or upload many").click()
    page.get_by_label("One pair on a line").fill("\n".join(f"city {place},sea {place}" for place in range(120)))
    page.get_by_role("button", name="Add these lines").click()
    expect(page.locator("#pairs li")).to_have_count(100)
    expect(page.locator("form").get_by_role("alert")).to_contain_text("100 examples, and 20 more were left out")
    expect(page.locator(".doubt").nth(20)).to_be_visible()
    assert 0 < most[0] <= 4


def test_a_name_with_a_comma_is_pasted_as_a_name(address, open_page):
    page = open_page(address)
    paste(page, "Alexandria, Virginia")
    expect(page.locator("#pairs li")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_answers_are_saved_as_csv_and_json_with_the_name_of_the_relation(address, open_page):
    page = open_page(f"{address}#{QUESTION}&relation=lies on, or in&top=3")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the answers as CSV").click()
    assert saved.value.suggested_filename == "answers.csv"
    rows = list(csv.DictReader(StringIO(saved.value.path().read_text(encoding="utf-8"))))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {(row["relation"], row["head"], row["head_label"]) for row in rows} == {
        ("lies on, or in", "city/baku-az", "Baku")
    }
    assert [row["tail_label"] for row in rows[:2]] == [HOSTILE, "Caspian Sea"]
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the answers as JSON").click()
    document = json.loads(saved.value.path().read_text(encoding="utf-8"))
    assert document["question"]["relation"] == "lies on, or in"
    assert [float(row["score"]) for row in rows] == [each["score"] for each in document["results"][0]["answers"]]


def test_saved_heads_stand_in_the_column_of_heads(address, open_page):
    fragment = QUESTION.replace("ask=city/baku-az", "which=heads&ask=sea/caspian-sea")
    page = open_page(f"{address}#{fragment}&top=2")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the answers as CSV").click()
    rows = list(csv.DictReader(StringIO(saved.value.path().read_text(encoding="utf-8"))))
    assert [row["tail"] for row in rows] == ["sea/caspian-sea"] * 2
    assert all(row["head"].startswith("city/") for row in rows)


def test_a_token_is_asked_for_until_it_is_right_and_then_kept(guarded_address, open_page):
    page = open_page(f"{guarded_address}#{EXPLAINED}")
    field = page.get_by_label("Token", exact=True)
    field.fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("did not accept that token")).to_be_visible()
    field.fill(TOKEN)
    page.keyboard.press("Enter")
    expect(explanation(page)).to_contain_text("Caspian Sea, mainly because")
    page.reload()
    expect(explanation(page)).to_contain_text("Caspian Sea, mainly because")


def test_nothing_found_is_said_in_words(address, open_page):
    page = open_page(f"{address}#{QUESTION}")
    expect(answers(page).first).to_be_visible()
    nothing = {"head": {"id": 0, "name": "x", "label": "x"}, "num_candidates": 0, "answers": []}
    page.route("**/answer", lambda route: route.fulfill(json={"results": [nothing], "seconds": 0.1}))
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("No answers: no candidate is left.")).to_be_visible()
