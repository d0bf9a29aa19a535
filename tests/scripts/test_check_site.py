"""What is wrong with a site is found: links and anchors that lead nowhere, and what other hosts would send."""

import pytest

from check_site import faults_of


@pytest.fixture
def site(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="top">Other</h1><a name="old"></a>')
    (tmp_path / "style.css").write_text("body { color: black }")
    return tmp_path


def faults(site, text: str) -> list[str]:
    (site / "index.html").write_text(text)
    return faults_of(site)


@pytest.mark.parametrize(
    "link", ["other.html", "./other.html#top", "/other.html#old", "#here", "https://example.org/", "mailto:a@b.c", "."]
)
def test_a_link_that_leads_somewhere_is_right(site, link):
    assert faults(site, f'<p id="here"><a href="{link}">a link</a></p>') == []


def test_a_picture_that_stands_in_the_page_itself_is_right(site):
    assert faults(site, '<img src="data:image/png;base64,AAAA">') == []


@pytest.mark.parametrize("link", ["nothing.html", "other.html#nothing", "#nothing", "/nothing.html", "folder/"])
def test_a_link_that_leads_nowhere_is_named_with_its_page(site, link):
    assert faults(site, f'<a href="{link}">a link</a>') == [f"index.html: {link} leads nowhere"]


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://example.org/file"></script>',
        '<img src="https://example.org/file">',
        '<link rel="stylesheet" href="https://example.org/file">',
    ],
)
def test_what_would_be_loaded_from_another_host_is_named(site, tag):
    assert faults(site, tag) == ["index.html: https://example.org/file is loaded from another host"]


def test_a_style_sheet_that_would_load_from_another_host_is_named(site):
    (site / "style.css").write_text('@import "//example.org/font.css"; body { background: url(https://example.org/a) }')
    assert faults(site, "") == [
        "style.css: //example.org/font.css is loaded from another host",
        "style.css: https://example.org/a is loaded from another host",
    ]


def test_a_picture_that_is_not_there_is_named(site):
    assert faults(site, '<img src="nothing.png">') == ["index.html: nothing.png leads nowhere"]
