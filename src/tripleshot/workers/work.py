"""What workers do, wherever they are: open something once, then do piece after piece with it."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeAlias

from tripleshot.errors import TripleshotError

MAX_TRIES = 3  # workers that may die over one piece before it is given up


class Work(Protocol):
    """What every worker opens for itself: plain data, since it travels to other processes.

    What is opened gives the same result for a piece in every worker, however often it is asked: a piece whose worker
    died is done again by another one.
    """

    def open(self) -> Callable[[Any], Any]:
        """Return what does one piece and returns its result; both are plain data, too."""
        ...


Crew: TypeAlias = Callable[[Work, Sequence[Any]], Generator[Any, None, None]]
"""Does every piece, and gives the results as they come, in any order; nobody works on once it is closed."""


def given_up(piece: object, reason: str) -> TripleshotError:
    """Return the error that too many workers died over a piece."""
    return TripleshotError(f"{piece}: given up, {MAX_TRIES} workers died over it; the last one {reason}")
