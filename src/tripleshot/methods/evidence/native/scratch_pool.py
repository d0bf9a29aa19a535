"""The memory that calls of the kernel work in, which is kept from one call to the next."""

import ctypes
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager


class ScratchPool:
    """Lends memory to calls. Several threads may ask at the same time."""

    def __init__(self, library: ctypes.CDLL, num_entities: int) -> None:
        """Begin with none; it is freed when nobody can ask any more."""
        self._library, self._num_entities = library, num_entities
        self._free: list[int] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _free_all, library, self._free)

    @contextmanager
    def lend(self) -> Iterator[int]:
        """Lend the memory of one call, which is kept for the next one unless the call fails."""
        with self._lock:
            scratch = self._free.pop() if self._free else None
        if scratch is None:
            scratch = self._library.make_scratch(self._num_entities)
        yield scratch
        with self._lock:
            self._free.append(scratch)


def _free_all(library: ctypes.CDLL, scratches: list[int]) -> None:
    for scratch in scratches:
        library.free_scratch(scratch)
