"""What methods keep between questions, and how they bound the memory of one.

`SupportCache` keeps what was made of the last few supports, `EntityCache` the codes of entities, `SupportLookup` finds
the task that examples belong to, and `score_in_batches` scores so many candidates at a time.
"""

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray

if TYPE_CHECKING:  # nobody waits for torch who asks a method without a network
    from torch import Tensor

Value = TypeVar("Value")
Codes = TypeVar("Codes", bound="npt.NDArray | Tensor")

MAX_SUPPORTS = 4  # whose examples are kept between questions
MAX_ENTITIES = 250_000  # codes kept between questions: 100 MB at width 100


class SupportCache(Generic[Value]):
    """What was made of the last few supports: all queries of a task have the same, and several clients ask in turns.

    Any thread may ask.
    """

    def __init__(self, max_supports: int = MAX_SUPPORTS) -> None:
        """Start empty; of more supports than that, the one that was asked for longest ago is dropped."""
        self._max_supports, self._lock = max_supports, threading.Lock()
        self._found: dict[bytes, Value] = {}

    def get(self, support: IntArray, compute: Callable[[], Value]) -> Value:
        """Return what was computed for a support, computing it if it is none of the last."""
        key = np.ascontiguousarray(support, dtype=np.int64).tobytes()
        with self._lock:
            if key in self._found:
                self._found[key] = found = self._found.pop(key)  # the last one now
                return found
        found = compute()
        with self._lock:
            self._found[key] = found
            while len(self._found) > self._max_supports:
                del self._found[next(iter(self._found))]
        return found

    def clear(self) -> None:
        """Drop everything: the weights have changed."""
        with self._lock:
            self._found.clear()


class EntityCache(Generic[Codes]):
    """Codes of entities, each computed when it is first asked for; a bounded number is kept, for any thread to use.

    They are arrays or tensors, whatever computes them.
    """

    def __init__(
        self, num_entities: int, encode: Callable[[IntArray], Codes], max_entities: int = MAX_ENTITIES
    ) -> None:
        """Start empty.

        Args:
            num_entities: of the graph.
            encode: returns the codes of entities, shape (n, d).
            max_entities: how many codes are kept; when they are full, all are dropped.
        """
        self._encode, self._max_entities = encode, max_entities
        self._table: Any = None
        self._num_entities = num_entities
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Drop all codes: the weights have changed."""
        with self._lock:
            self._drop()

    def get(self, entities: IntArray) -> Codes:
        """Return the codes of entities: shape (n, d)."""
        found: tuple[Any, IntArray] = self.find(entities)
        table, rows = found
        return table[rows]

    def find(self, entities: IntArray) -> tuple[Codes, npt.NDArray[np.int32]]:
        """Return a table of codes, shape (m, d), and the row of each entity in it, shape (n,)."""
        with self._lock:
            table, rows = self._table, self._rows[entities]
            if table is None or not rows.all():
                missing = np.unique(entities[rows == 0])
                if self._size + len(missing) > self._max_entities:
                    self._drop()
                    missing = np.unique(entities)
                table = self._append(missing, self._encode(missing))
                rows = self._rows[entities]
            return table, rows - 1

    def _drop(self) -> None:
        self._rows = np.zeros(self._num_entities, dtype=np.int32)  # 1 + the row; pages never asked for take no memory
        self._size, self._table = 0, None

    def _append(self, entities: IntArray, codes: Codes) -> Codes:
        """Add codes to the table, which is made larger where it is full, and return the table."""
        end, table = self._size + len(entities), self._table
        capacity = 0 if table is None else len(table)
        if table is None or end > capacity:
            shape = max(end, min(2 * capacity, self._max_entities)), codes.shape[1]
            larger: Any = np.empty(shape, codes.dtype) if isinstance(codes, np.ndarray) else codes.new_empty(shape)
            if table is not None:
                larger[: self._size] = table[: self._size]
            self._table = table = larger
        table[self._size : end] = codes
        self._rows[entities] = np.arange(self._size, end) + 1
        self._size = end
        return table


class SupportLookup:
    """Finds the task that examples belong to, among the tasks of a training; the order of examples does not matter.

    Where two tasks have the same examples, the later one is found: test tasks stand behind the others.
    """

    def __init__(self, supports: npt.NDArray[np.int64]) -> None:
        """Index examples, shape (num_tasks, K, 2); -1 stands for a missing one."""
        self._tasks = {self.key(support[support[:, 0] >= 0]): task for task, support in enumerate(supports)}
        self._num_tasks = len(supports)

    def __len__(self) -> int:
        return self._num_tasks

    def find(self, support: IntArray) -> int | None:
        """Return the task with these examples, None if there is none."""
        return self._tasks.get(self.key(support))

    @staticmethod
    def key(support: IntArray) -> bytes:
        """Return the same bytes for the same examples in any order."""
        return sort_examples(support).tobytes()


def sort_examples(support: IntArray) -> npt.NDArray[np.int64]:
    """Return the same examples in an order that depends on nothing but themselves."""
    pairs = np.ascontiguousarray(support, dtype=np.int64)
    return pairs[np.lexsort(pairs.T)]


def in_batches(tails: IntArray, size: int) -> Iterator[IntArray]:
    """Yield `size` tails at a time; the last batch may have fewer."""
    for start in range(0, len(tails), size):
        yield tails[start : start + size]


def score_in_batches(score: "Callable[[IntArray], Tensor]", tails: IntArray, size: int) -> FloatArray:
    """Score `size` tails at a time, which bounds memory.

    Args:
        score: returns the scores of some tails, shape (n,).
        tails: shape (N,).
        size: how many tails a batch has at most.

    Returns:
        shape (N,).
    """
    scores = (score(batch).cpu().numpy() for batch in in_batches(tails, size))
    return np.concatenate([np.empty(0, dtype=np.float32), *scores])
