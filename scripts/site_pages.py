"""The pages of the documentation site: which there are, and how the links between them are written there.

The pages are Markdown that can be read where it is, or notebooks, which become Markdown. On the site, a page that is
not under `docs/`, such as the changelog, stands beside the others, and so does a notebook.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

from notebooks import notebooks, page_of, read_notebook

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIGURATION = ROOT / "zensical.toml"
OTHERS = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "results/README.md": "results.md",
    "src/tripleshot/data/atlas/README.md": "atlas.md",
}
"""Pages that are not under `docs/`, and what they are called on the site."""
LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def places_of_pages() -> dict[Path, str]:
    """Return every page of the site: where it is, and what it is called there."""
    found = {page: page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))}
    found |= {page: f"notebook-{page.stem}.md" for page in notebooks()}
    return found | {ROOT / name: place for name, place in OTHERS.items()}


def text_of(page: Path) -> str:
    """Return a page as Markdown."""
    return page_of(read_notebook(page)) if page.suffix == ".ipynb" else page.read_text(encoding="utf-8")


def navigation() -> list[str]:
    """Return the pages that the navigation names, in its order."""
    with CONFIGURATION.open("rb") as file:
        return _names_in(tomllib.load(file)["project"]["nav"])


def _names_in(entries: list[dict]) -> list[str]:
    found = []
    for entry in entries:
        for inner in entry.values():
            found += [inner] if isinstance(inner, str) else _names_in(inner)
    return found


def moved_links(text: str, page: Path, places: dict[Path, str]) -> str:
    """Return the text of a page with its links to other pages as they are on the site."""
    folder = Path(places[page]).parent

    def moved(link: re.Match[str]) -> str:
        target = (page.parent / link[1]).resolve()
        if target in places:
            name = places[target]
        elif target.is_relative_to(DOCS):
            name = target.relative_to(DOCS).as_posix()
        else:
            sys.exit(f"{page.relative_to(ROOT)}: the link {link[1]} leads to what is not on the site")
        return f"]({os.path.relpath(name, folder)}{link[2] or ''})"

    return LINK.sub(moved, text)
