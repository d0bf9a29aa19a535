import pytest

from shown_html import HOSTILE, check_shown
from tripleshot.markup import Markup, bar, block, escape, heading, name, note, table


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_name_is_text_wherever_it_stands(hostile):
    cells = [(hostile, name(hostile), name("short", hostile))]
    shown = check_shown(block(heading(hostile), table((hostile, "", ""), cells), note(hostile), bar(0.5, hostile)))
    visible = hostile.replace("\u202e", "\\u202e").replace("\x00", "\\u0000").replace("\x1b", "\\u001b")
    assert shown.text.count(visible) == 6
    assert visible in dict(shown.attributes)["title"]


def test_what_is_markup_already_is_not_escaped_again():
    assert escape(Markup("<i>so</i>")) == "<i>so</i>"
    assert escape(escape("a & b")) == "a &amp; b"


def test_a_very_long_name_is_cut_and_whole_where_the_mouse_rests():
    shown = check_shown(block(name("long " * 100)))
    assert len(shown.text) == 200
    assert dict(shown.attributes)["title"] == "long " * 100


@pytest.mark.parametrize(("share", "width"), [(-1.0, 0), (0.0, 0), (0.424, 42), (1.0, 100), (7.0, 100)])
def test_a_bar_is_as_long_as_its_share(share, width):
    assert f"width:{width}%" in bar(share, "so much")


def test_numbers_stand_on_the_right_and_lesser_rows_are_fainter():
    html = table(("method", "MRR"), [("a", ".5"), ("b", ".4")], right=(1,), faint=(1,))
    assert html.count("text-align:right") == 3
    assert html.count("opacity:.65") == 1


def test_colors_are_those_of_the_page_around():
    html = block(heading("so"), table(("a",), [("b",)]), note("and"))
    assert "color:inherit" in html
    assert "#fff" not in html
    assert "black" not in html
