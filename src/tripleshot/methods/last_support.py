"""Looks at the examples of a relation once for all its queries."""

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from tripleshot.arrays import IntArray

Made = TypeVar("Made")


class LastSupport(Generic[Made]):
    """Remembers what was made of the examples that were asked about last; several threads may ask."""

    def __init__(self) -> None:
        self._last: tuple[bytes, Made] | None = None

    def get(self, support: IntArray, make: Callable[[], Made]) -> Made:
        """Return what these examples gave, making it if they are not the last ones."""
        key, last = np.ascontiguousarray(support, dtype=np.int64).tobytes(), self._last
        if last is None or last[0] != key:
            self._last = last = key, make()
        return last[1]

    def forget(self) -> None:
        """Forget, because the weights have changed."""
        self._last = None
