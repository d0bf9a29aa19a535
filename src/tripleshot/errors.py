"""What can go wrong on the user's side, said in one line each.

Everything the package raises on purpose is a `TripleshotError`; the command line prints its text and nothing else.
"""

import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches


class TripleshotError(Exception):
    """Something the user can mend; the message says what and where."""


class InputError(TripleshotError, ValueError):
    """Input that cannot be read as asked: names the file and, where there is one, the line."""


class FetchError(TripleshotError, OSError):
    """A download that did not arrive whole and verified."""


class InputWarning(UserWarning):
    """Input that was read, but not all of it as it stood: says how much was left out and where it began."""


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """End a sentence about an unknown name with the likeliest intended one, or with nothing."""
    matches = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def warn(message: str) -> None:
    """Warn about the input, as coming from the code that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tripleshot."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, InputWarning, stacklevel=level)
