"""Threads that do the work in turns, and a queue of bounded length."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Generic

from tripleshot.answering.steps import Result, Steps

TURN_SECONDS = 0.05  # that a request may work before others have their turn; a step is never interrupted


class BusyError(Exception):
    """The queue is full."""


@dataclass(frozen=True)
class Ended(Generic[Result]):
    """What came out of the last step."""

    result: Result


class Workers:
    """A few threads, and a bounded number of requests that wait for one.

    Requests take turns: one that is not done after a turn waits again, behind those that came meanwhile. So a small
    request does not wait for the end of large ones. A request that nobody waits for any more is dropped if it waits; if
    a thread works on it, it ends after the present step, and until then the thread is taken and counts as such.
    """

    def __init__(self, count: int, max_waiting: int) -> None:
        self.count, self.max_waiting = count, max_waiting
        self._pool = ThreadPoolExecutor(count)
        self._lock = threading.Lock()
        self._num_pending = 0

    @property
    def num_running(self) -> int:
        """How many threads are taken."""
        return min(self._num_pending, self.count)

    @property
    def num_waiting(self) -> int:
        """How many requests wait for a thread."""
        return max(0, self._num_pending - self.count)

    @property
    def is_full(self) -> bool:
        """Whether another request would be turned away."""
        return self._num_pending >= self.count + self.max_waiting

    async def run(self, steps: Steps[Result]) -> Result:
        """Do the steps of some work in threads.

        Raises:
            BusyError: if too many requests wait already.
        """
        with self._lock:
            if self.is_full:
                raise BusyError
            self._num_pending += 1
        given_up = threading.Event()
        turn: Future[Ended[Result] | None] | None = None
        try:
            while True:
                turn = self._pool.submit(copy_context().run, take_turn, steps, given_up.is_set)
                if ended := await asyncio.wrap_future(turn):
                    return ended.result
        finally:
            given_up.set()
            if turn is not None:
                turn.add_done_callback(self._leave)  # at once, unless a thread still works on it

    def close(self) -> None:
        """Finish the turns that have begun, drop the rest."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _: Future) -> None:
        with self._lock:
            self._num_pending -= 1


def take_turn(steps: Steps[Result], is_given_up: Callable[[], bool]) -> Ended[Result] | None:
    """Do steps until the turn is over or the work is done; return what came out of it, None if it goes on."""
    end = time.monotonic() + TURN_SECONDS
    while not is_given_up():
        try:
            next(steps)
        except StopIteration as stop:
            return Ended(stop.value)
        if time.monotonic() >= end:
            return None
    steps.close()
    return None


def timed(steps: Steps[Result], observe: Callable[[float], None]) -> Steps[Result]:
    """Do the same steps, and tell how many seconds all of them have taken, without the time between them."""
    seconds = 0.0
    try:
        while True:
            started = time.perf_counter()
            try:
                next(steps)
            except StopIteration as stop:
                return stop.value
            finally:
                seconds += time.perf_counter() - started
            yield
    finally:
        steps.close()
        observe(seconds)
