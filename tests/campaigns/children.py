"""Child processes of a campaign: forked, so that each begins at once, and killed, limited or left to end.

A fault that would end the campaign itself, such as a crash inside a library, ends a child.
"""

import io
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tripleshot.cli import main
from tripleshot.errors import TripleshotError

FOREIGN = 70  # exit code of a child that raised what is no error of ours
LONGEST = 1800.0  # seconds until a child counts as stuck: others may need the processor, too
MAX_KEPT = 20  # losses that are told in full


@dataclass
class Tally:
    """What a campaign tried and what came of it.

    Attributes:
        tried: number of faults.
        outcomes: how often each outcome was seen.
        lost: what should not have happened, in words.
    """

    tried: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def add(self, outcome: str, loss: str = "") -> None:
        """Count one fault, and what it lost if it lost anything."""
        self.tried += 1
        self.outcomes[outcome] += 1
        if loss:
            self.lost.append(loss)

    def print(self, part: str) -> None:
        """Tell what was tried in a part of a campaign, and what was lost."""
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        print(f"{part:40} {self.tried:7,} tried, {len(self.lost)} lost: {outcomes}", flush=True)
        for loss in self.lost:
            print(f"    lost: {loss}", flush=True)

    def as_document(self) -> dict[str, Any]:
        """Return what is written to the file of figures."""
        lost = {"lost": len(self.lost), "losses": self.lost[:MAX_KEPT]}
        return {"tried": self.tried, "outcomes": dict(sorted(self.outcomes.items())), **lost}


Campaign = Iterator[tuple[str, Tally]]
"""What came of each part of a campaign, by its name, as soon as it is known."""

Part = TypeVar("Part")


def shares_of(parts: Sequence[Part], number: int, until: float) -> Iterator[tuple[Part, int, float]]:
    """Give each part with its share of a number and the moment to end at; time that one leaves is for the others."""
    for place, part in enumerate(parts):
        share = number // len(parts) + (place < number % len(parts))
        yield part, share, time.monotonic() + (until - time.monotonic()) / (len(parts) - place)


def command(*words: object) -> Callable[[], None]:
    """Return what runs a command as the shell would."""

    def run() -> None:
        sys.argv = ["tripleshot", *map(str, words)]
        main()

    return run


def run_child(
    work: Callable[[], None], output: Path, kill_after: float | None = None, max_bytes: int | None = None
) -> int:
    """Run a function in a child and return its exit code: 0, 1 for an error of ours, negative if a signal ended it.

    Args:
        work: what the child does.
        output: where it writes what it prints.
        kill_after: seconds until it is killed.
        max_bytes: no file may grow larger, as on a full disk.
    """
    process = os.fork()
    if process == 0:
        code = FOREIGN
        try:
            code = _in_child(work, output, max_bytes)
        finally:  # whatever happens: what this process was forked from is not its own to clean up
            os._exit(code)
    started, is_killed = time.monotonic(), False
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        passed = time.monotonic() - started
        if not is_killed and passed >= (LONGEST if kill_after is None else kill_after):
            os.kill(process, signal.SIGKILL)
            is_killed = True
        time.sleep(0.001)


def _in_child(work: Callable[[], None], output: Path, max_bytes: int | None) -> int:
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        if max_bytes is not None:
            return _with_little_room(work, descriptor, max_bytes)
        return _do(work)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _with_little_room(work: Callable[[], None], descriptor: int, max_bytes: int) -> int:
    """Do work while no file may grow larger; what is printed goes to memory first, which is no disk."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, most))
    printed = io.BytesIO()
    sys.stdout = sys.stderr = io.TextIOWrapper(printed, "utf-8", errors="replace", write_through=True)
    try:
        return _do(work)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        os.write(descriptor, printed.getvalue())


def _do(work: Callable[[], None]) -> int:
    try:
        work()
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except TripleshotError as error:
        print(error, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return FOREIGN


def last_line(output: Path) -> str:
    """Return the end of what a child printed."""
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "nothing"
