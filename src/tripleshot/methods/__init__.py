"""The one table of names: everything that can score."""

from collections.abc import Callable
from dataclasses import dataclass

from tripleshot.errors import InputError, nearest
from tripleshot.method import Method
from tripleshot.methods.evidence import Degree, Evidence, Linked, SupportFrequency


@dataclass(frozen=True)
class MethodEntry:
    """A method in the table.

    Attributes:
        make: returns the method, not yet fitted, with its default settings.
        kind: the family it belongs to.
        summary: one line for `tripleshot methods`.
    """

    make: Callable[[], Method]
    kind: str
    summary: str


METHODS: dict[str, MethodEntry] = {
    "degree": MethodEntry(Degree, "evidence", "entities with more edges first, whatever is asked"),
    "support-frequency": MethodEntry(SupportFrequency, "evidence", "tails of the examples first, then by degree"),
    "linked": MethodEntry(Linked, "evidence", "linked to the head, then tails of the examples, then by degree"),
    "evidence": MethodEntry(Evidence, "evidence", "links, paths that the examples share and support frequency, added"),
}


def make_method(name: str) -> Method:
    """Return a fresh method by its name."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}, there are {', '.join(METHODS)}{nearest(name, list(METHODS))}")
    return METHODS[name].make()
