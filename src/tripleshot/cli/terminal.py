"""Terminals: names in a graph may be anything, and nothing of them is obeyed or hidden."""

import json
import unicodedata

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.control import Control
from rich.measure import Measurement

HARMLESS = "\n\t\u200c\u200d"  # the last two join letters or keep them apart, in Persian, in Hindi, in emoji


def printable(text: str) -> str:
    """Return text with an escape, as in JSON, for what moves the cursor, changes the direction or cannot be seen."""
    if text.isprintable():
        return text
    return "".join(letter if _is_harmless(letter) else json.dumps(letter)[1:-1] for letter in text)


def open_console(stderr: bool = False) -> Console:
    """Return a console for the output or for errors on which all text is printable, whoever prints it."""
    console = Console(stderr=stderr, highlight=False)
    console.push_render_hook(EscapingHook())
    return console


class EscapingHook(RenderHook):
    """Escapes what is printed on a console."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap everything but what moves the cursor on purpose."""
        return [one if isinstance(one, Control) else Escaped(one) for one in renderables]


class Escaped:
    """Something printed with its text escaped; its styles and lines stay."""

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.renderable)


def _is_harmless(letter: str) -> bool:
    return letter.isprintable() or letter in HARMLESS or unicodedata.category(letter) == "Zs"
