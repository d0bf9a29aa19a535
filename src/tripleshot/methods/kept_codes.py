"""What entities are, computed when it is first asked for and kept for later questions."""

import threading
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import IntArray

MAX_KEPT = 250_000  # codes kept between questions: 100 MB at width 100


class KeptCodes:
    """Codes of entities, each computed when it is first asked for; a bounded number is kept, for any thread to use."""

    def __init__(self, num_entities: int, encode: Callable[[IntArray], Tensor], max_kept: int = MAX_KEPT) -> None:
        """Keep nothing yet; `encode` returns the codes of entities, shape (n, d)."""
        self._encode, self._max_kept = encode, max_kept
        self._places = np.full(num_entities, -1, dtype=np.int64)
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Drop all codes: the weights have changed."""
        with self._lock:
            self._drop()

    def of(self, entities: IntArray) -> Tensor:
        """Return the codes of entities: shape (n, d)."""
        with self._lock:
            asked = np.unique(entities)
            missing = asked[self._places[asked] < 0]
            if self._num_kept + len(missing) > self._max_kept:
                self._drop()
                missing = asked
            if len(missing):
                self._keep(missing, self._encode(missing))
            places = torch.from_numpy(self._places[entities])
            return self._table[places.to(self._table.device)]

    def _drop(self) -> None:
        self._places[:] = -1
        self._num_kept, self._table = 0, torch.empty(0)

    def _keep(self, entities: IntArray, codes: Tensor) -> None:
        last = self._num_kept + len(entities)
        if last > len(self._table):
            larger = codes.new_empty(max(last, min(2 * len(self._table), self._max_kept)), codes.shape[1])
            if self._num_kept:
                larger[: self._num_kept] = self._table[: self._num_kept]
            self._table = larger
        self._table[self._num_kept : last] = codes
        self._places[entities] = np.arange(self._num_kept, last)
        self._num_kept = last
