"""Work that can be put down and taken up again: a generator that stops after each step and returns the result.

Whoever runs it decides after every step whether it goes on, later or never.
"""

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]


def finish(steps: Steps[Result]) -> Result:
    """Do all steps, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def in_one_step(work: Callable[[], Result]) -> Steps[Result]:
    """Make one step of work that cannot be put down."""
    yield from ()
    return work()
