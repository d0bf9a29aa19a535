"""What a notebook would make of HTML: its tags, its text, and whether a name in it has become anything but text."""

from html.parser import HTMLParser

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'\"--></style></svg><script>alert(2)</script>",
    "&lt;b&gt; & ]]> $x^2$",
    "right\u202eleft\x00\x1b[31m",
)
TAGS = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "bdi", "span", "i"}
DRAWN = {"svg", "g", "path", "text", "tspan", "polyline", "circle", "defs", "clippath", "rect", "use", "pattern"}
EMPTY = {"path", "polyline", "circle", "rect", "use"}


class Shown(HTMLParser):
    """A piece of HTML, read as a browser reads it; tags that do not match are an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All that can be read."""
        return "".join(self.texts)


def check_shown(html: str) -> Shown:
    """Require that HTML has known tags alone, nothing that runs or is loaded, and no empty line."""
    shown = Shown(html)
    assert set(shown.tags) <= TAGS | DRAWN, set(shown.tags) - TAGS - DRAWN
    names = {name for name, _ in shown.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "srcdoc"}
    for name, value in shown.attributes:
        assert "href" not in name or value.startswith("#")
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "\n\n" not in html
    assert "mathjax_ignore" in html
    return shown
