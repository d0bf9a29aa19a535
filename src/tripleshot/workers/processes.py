"""Workers as processes of this machine: each one a fresh interpreter with one thread and a pipe to this process.

The end of a worker, whatever ended it, is the end of its pipe. So it is known which piece it had, and the other workers
go on meanwhile; a pool of `concurrent.futures` breaks as a whole.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from tripleshot.errors import TripleshotError
from tripleshot.workers.work import MAX_TRIES, Work, given_up

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Sums are made in the same order by every worker, and workers do not take cores from each other."""

PATIENCE = 5.0  # seconds that a worker whose pipe has ended may take to end


@dataclass(frozen=True)
class Outcome:
    """What became of a piece: its result, or the error that it ended with."""

    result: Any = None
    error: Exception | None = None


def run_in_processes(work: Work, pieces: Sequence[Any], num_workers: int) -> Generator[Any, None, None]:
    """Do pieces in worker processes, and give the results as they come.

    A worker that dies is replaced, and its piece is done again. An error that a piece raises is raised here. However
    this ends, no worker is left behind, not even if this process is killed.

    Args:
        work: what every worker opens.
        pieces: to be done, the first ones first.
        num_workers: at the same time.

    Raises:
        TripleshotError: several workers died over one piece.
    """
    waiting = deque(enumerate(pieces))
    deaths: Counter[int] = Counter()
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < num_workers:
                worker = idle.pop() if idle else _Worker(work)
                worker.begin(*waiting.popleft())
                busy[worker.channel] = worker
            for channel in wait([*busy]):
                assert isinstance(channel, Connection)
                worker = busy[channel]
                outcome = worker.outcome()
                del busy[channel]
                if outcome is not None:
                    idle.append(worker)
                    if outcome.error is not None:
                        raise outcome.error
                    yield outcome.result
                    continue
                reason = worker.stop(PATIENCE)
                deaths[worker.place] += 1
                if deaths[worker.place] == MAX_TRIES:
                    raise given_up(worker.piece, reason)
                waiting.appendleft((worker.place, worker.piece))
    finally:
        for worker in (*idle, *busy.values()):
            worker.stop()


class _Worker:
    """A process, this side of it."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit locks of threads that it does not have
        self.channel, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, other), daemon=True)
        with _environment(ONE_THREAD):
            self.process.start()
        other.close()
        self.place, self.piece = -1, None

    def begin(self, place: int, piece: Any) -> None:  # noqa: ANN401 (whatever the work takes)
        """Hand over a piece; that the worker is dead is found out by waiting for it."""
        self.place, self.piece = place, piece
        with suppress(OSError):
            self.channel.send(piece)

    def outcome(self) -> Outcome | None:
        """Return what became of the piece, None if the worker died over it."""
        try:
            return self.channel.recv()
        except (EOFError, OSError):
            return None

    def stop(self, patience: float = 0.0) -> str:
        """End the process unless it ends by itself within so many seconds, and return how it ended."""
        self.channel.close()
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        self.process.close()
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that are started meanwhile: libraries read them while they are imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _serve(work: Work, channel: Connection) -> None:
    """Do pieces until nobody hands over another one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that decides what becomes of the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    do = None
    with suppress(EOFError, OSError):
        while True:
            piece = channel.recv()
            try:
                do = do or work.open()
                outcome = Outcome(do(piece))
            except TripleshotError as error:
                outcome = Outcome(error=error)
            except Exception as error:
                error.add_note(traceback.format_exc())
                outcome = Outcome(error=error)
            channel.send(outcome)


def _end_with_parent() -> None:
    """End at once when the process that started this one is gone: what it has begun may be begun anew by another."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
