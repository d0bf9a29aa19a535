"""Look for what is wrong with a built site: links and anchors that lead nowhere, and what comes from another host."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
FOREIGN_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^)\"']+)")


class Page(HTMLParser):
    """One page: what it has anchors for, links to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what a tag has."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if (tag, name) in LOADED and value and not value.startswith("data:image/"):
                self.loaded.append(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)


def faults_of(site: Path) -> list[str]:
    """Return what is wrong, one sentence each."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: {link} is loaded from another host" for link in page.loaded if is_foreign(link)]
        own = [link for link in (*page.links, *page.loaded) if not is_foreign(link)]
        found += [f"{name}: {link} leads nowhere" for link in own if not leads_somewhere(link, path, site, pages)]
    for style in sorted(site.rglob("*.css")):
        for link in FOREIGN_STYLE.findall(style.read_text(encoding="utf-8")):
            found.append(f"{style.relative_to(site)}: {link} is loaded from another host")
    return found


def is_foreign(link: str) -> bool:
    """Tell whether a link leads to another host, or to what is no page."""
    parts = urlsplit(link)
    return bool(parts.scheme and parts.scheme != "file") or bool(parts.netloc)


def leads_somewhere(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> bool:
    """Tell whether there is a file, and an anchor in it, where a link of a page leads."""
    parts = urlsplit(link)
    name = unquote(parts.path)
    folder = site if name.startswith("/") else path.parent
    target = (folder / name.lstrip("/")).resolve() if name else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


if __name__ == "__main__":
    sys.exit("\n".join(faults_of(Path(sys.argv[1]))) or 0)
