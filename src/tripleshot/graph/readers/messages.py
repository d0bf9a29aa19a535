"""How readers speak: short, about what was found, and to the line of code that asked."""

import sys
import warnings

from tripleshot.errors import InputWarning


def warn_skipped(place: str, count: int, noun: str) -> None:
    """Say how much was left out, once, with the place of the first."""
    warn(f"{place}: {noun} skipped" if count == 1 else f"{place}: {count:,} {noun}s skipped, the first here")


def warn(message: str) -> None:
    """Warn about the input, as coming from the code that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tripleshot."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, InputWarning, stacklevel=level)


def reason(error: BaseException) -> str:
    """Return another library's message without its trail of details."""
    lines = str(error).strip().splitlines()
    return shorten(lines[0] if lines else type(error).__name__, limit=200)


def shorten(text: str, limit: int = 60) -> str:
    """Cut text to what fits in a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
