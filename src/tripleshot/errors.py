"""What can go wrong on the user's side, said in one line each.

Everything the package raises on purpose is a `TripleshotError`; the command line prints its text and nothing else.
"""

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


def nearest(name: str, known: Sequence[str]) -> str:
    """End a sentence about an unknown name with the likeliest intended one, or with nothing."""
    matches = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""
