"""Links between pages lead to the same page on the site as they do in the repository."""

import pytest

from site_pages import DOCS, ROOT, moved_links, places_of_pages

PLACES = places_of_pages()


@pytest.mark.parametrize(
    ("page", "link", "moved"),
    [
        (DOCS / "asking.md", "universal.md#ask", "universal.md#ask"),
        (DOCS / "asking.md", "../CONTRIBUTING.md#the-rules", "contributing.md#the-rules"),
        (DOCS / "asking.md", "images/page-answers.png", "images/page-answers.png"),
        (DOCS / "asking.md", "#runs", "#runs"),
        (DOCS / "notebooks.md", "notebooks/drug-repurposing.ipynb", "notebook-drug-repurposing.md"),
        (DOCS / "notebooks/drug-repurposing.ipynb", "../large-graphs.md", "large-graphs.md"),
        (DOCS / "asking.md", "https://example.org/a.md", "https://example.org/a.md"),
        (ROOT / "CHANGELOG.md", "docs/asking.md", "asking.md"),
        (ROOT / "SECURITY.md", "docs/operating.md#in-a-container", "operating.md#in-a-container"),
    ],
)
def test_a_link_leads_to_the_same_page_on_the_site(page, link, moved):
    assert moved_links(f"see [this]({link}).", page, PLACES) == f"see [this]({moved})."


def test_a_link_to_what_is_not_on_the_site_is_an_error_that_names_it():
    with pytest.raises(SystemExit, match=r"docs/asking\.md: the link \.\./pyproject\.toml leads to what is not"):
        moved_links("[this](../pyproject.toml)", DOCS / "asking.md", PLACES)
