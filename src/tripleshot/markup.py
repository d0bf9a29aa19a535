"""HTML that results show themselves with in a notebook: tables and bars, every name escaped.

Colors are those of the page around, or lie between light and dark, so that both can be read. There is no script and no
style sheet: what a notebook strips of foreign HTML is not missed.
"""

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence

BLUE, VERMILION = "#1f84c6", "#d55e00"  # told apart by every eye, and from white and from black
LINE = "1px solid rgba(128,128,128,.35)"
CELL = "padding:.25em .7em;vertical-align:top;border:0"
IGNORED = "tripleshot tex2jax_ignore mathjax_ignore"  # a dollar sign in a name starts no formula
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
MAX_LETTERS = 200  # of a name in a table


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


class Shown(ABC):
    """Something that shows itself in a notebook."""

    @abstractmethod
    def to_html(self) -> str:
        """Return the content as HTML, as a notebook shows it; names in it are escaped."""

    def _repr_html_(self) -> str:
        return self.to_html()


def escape(text: object) -> Markup:
    """Return text as HTML: nothing in it is obeyed, and what would be invisible or turn the line around is spelled out.

    What is HTML already stays as it is.
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(spell_out(str(text))))


def spell_out(text: str) -> str:
    """Return text with an escape for what would be invisible or turn the line around."""
    return INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def name(text: str, title: str = "") -> Markup:
    """Return the name of an entity, cut where it is very long; what it stands for is told where the mouse rests."""
    whole = title or text
    shown = text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"
    hint = f' title="{escape(whole[: 5 * MAX_LETTERS])}"' if whole != shown else ""
    return Markup(f'<bdi style="overflow-wrap:anywhere"{hint}>{escape(shown)}</bdi>')


def bar(share: float, text: str, color: str = BLUE) -> Markup:
    """Return a share between 0 and 1 as a bar with a text beside it."""
    width = round(100 * min(max(share, 0.0), 1.0))
    outer = "display:inline-block;width:5em;height:.6em;margin-right:.6em;background:rgba(128,128,128,.25)"
    inner = f"display:block;height:100%;width:{width}%;background:{color}"
    drawn = f'<span style="{outer}"><span style="{inner}"></span></span>{escape(text)}'
    return Markup(f'<span style="white-space:nowrap">{drawn}</span>')


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], right: Collection[int] = (), faint: Collection[int] = ()
) -> Markup:
    """Lay out a table.

    Args:
        headings: of the columns.
        rows: one cell for each of them; what is no `Markup` is escaped.
        right: columns whose cells end at one line, as numbers do.
        faint: rows that are less important.
    """

    def cells(tag: str, values: Sequence[object], style: str) -> str:
        sides = ("right" if place in right else "left" for place in range(len(values)))
        return "".join(
            f'<{tag} style="{CELL};text-align:{side}{style}">{escape(value)}</{tag}>'
            for side, value in zip(sides, values, strict=True)
        )

    head = f'<tr style="border-bottom:{LINE}">{cells("th", headings, ";font-weight:600")}</tr>'
    body = "".join(
        f'<tr style="background:none;opacity:{".65" if number in faint else "1"}">{cells("td", row, "")}</tr>'
        for number, row in enumerate(rows)
    )
    style = "border-collapse:collapse;margin:.3em 0 1em;color:inherit;font-variant-numeric:tabular-nums"
    return Markup(f'<table class="tripleshot-table" style="{style}"><thead>{head}</thead><tbody>{body}</tbody></table>')


def paragraph(text: object, style: str = "") -> Markup:
    """Return a paragraph."""
    return Markup(f'<p style="margin:.3em 0;{style}">{escape(text)}</p>')


def heading(text: object) -> Markup:
    """Return the first line of something that is shown."""
    return paragraph(text, "font-weight:600")


def note(text: object) -> Markup:
    """Return a line that is less important."""
    return paragraph(text, "opacity:.7;font-size:90%")


def block(*parts: str) -> str:
    """Put parts below each other, as the whole of what is shown."""
    return f'<div class="{IGNORED}" style="color:inherit;max-width:60em;overflow-x:auto">{"".join(parts)}</div>'
