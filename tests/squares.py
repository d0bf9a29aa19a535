"""Work for worker processes: squares of numbers, and pieces that fail in the ways in which workers fail."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tripleshot.errors import InputError

DIES_ONCE, DIES, IS_WRONG, SLEEPS = -1, -2, -3, -4


@dataclass(frozen=True)
class Squares:
    """Squares numbers; the names of files in the folder say who has opened it and who has died."""

    folder: str

    def open(self) -> Callable[[int], tuple[int, str | None]]:
        """Return what squares a number, and tells how many threads a library would take."""
        (Path(self.folder) / f"opened-{os.getpid()}").touch()
        return self.do

    def do(self, number: int) -> tuple[int, str | None]:
        """Square a number, or fail as it asks for."""
        if number == IS_WRONG:
            raise InputError("numbers: -3 is no number")
        if number == SLEEPS:
            time.sleep(60)
        died = Path(self.folder) / "died"
        if number == DIES or (number == DIES_ONCE and not died.exists()):
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number, os.environ.get("OMP_NUM_THREADS")


def opened(folder: Path) -> list[int]:
    """Return the ids of the processes that have opened the work."""
    return [int(path.name.partition("-")[2]) for path in folder.glob("opened-*")]
