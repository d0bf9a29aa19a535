"""Threads that do the work, and a queue of bounded length."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class BusyError(Exception):
    """The queue is full."""


class Workers:
    """A few threads, and a bounded number of requests that wait for one.

    A request that nobody waits for any more is dropped if it has not begun. If it has, its thread is told, but only
    the work itself can stop; until then the thread is taken and counts as such.
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

    async def run(self, work: Callable[[Callable[[], bool]], Result]) -> Result:
        """Do some work in a thread.

        Args:
            work: is given a function that tells whether it is given up.

        Raises:
            BusyError: if too many requests wait already.
        """
        given_up = threading.Event()
        try:
            return await asyncio.wrap_future(self.submit(lambda: work(given_up.is_set)))
        finally:
            given_up.set()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Hand over some work without waiting for it."""
        with self._lock:
            if self._num_pending >= self.count + self.max_waiting:
                raise BusyError
            self._num_pending += 1
        future = self._pool.submit(work)
        future.add_done_callback(self._finished)
        return future

    def close(self) -> None:
        """Finish what has begun, drop the rest."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _finished(self, _: Future) -> None:
        with self._lock:
            self._num_pending -= 1
