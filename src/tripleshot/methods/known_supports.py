"""Recognises a support: which of the relations that training has seen do these examples speak of?"""

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray


class KnownSupports:
    """The examples of the tasks that a model was trained with; their order does not matter.

    Where two tasks have the same examples, the later one is found: test tasks stand behind the others.
    """

    def __init__(self, supports: npt.NDArray[np.int64]) -> None:
        """Remember examples, shape (num_tasks, K, 2); -1 stands for a missing one."""
        self._tasks = {self.key(support[support[:, 0] >= 0]): task for task, support in enumerate(supports)}
        self._count = len(supports)

    def __len__(self) -> int:
        return self._count

    def find(self, support: IntArray) -> int | None:
        """Return the task with these examples, None if there is none."""
        return self._tasks.get(self.key(support))

    @staticmethod
    def key(support: IntArray) -> bytes:
        """Return the same bytes for the same examples in any order."""
        return in_order(support).tobytes()


def in_order(support: IntArray) -> npt.NDArray[np.int64]:
    """Return the same examples in an order that depends on nothing but themselves."""
    pairs = np.ascontiguousarray(support, dtype=np.int64)
    return pairs[np.lexsort(pairs.T)]
