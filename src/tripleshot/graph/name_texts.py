"""What everything is called, as numbers: the trigrams of names and labels, hashed to two bytes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot import arrays
from tripleshot.arrays import IntArray
from tripleshot.graph.search import BLOCK_SIZE, NUM_CODES, columns, normalise, trigrams
from tripleshot.graph.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class NameTexts:
    """The trigrams of each name, each once; a name and its label count as one text.

    Attributes:
        offsets: shape (n + 1,), where those of each name start and end.
        codes: in order for each name.
    """

    offsets: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "NameTexts":
        """Read all names and labels, some at a time."""
        lengths, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.uint16)]
        for first in range(0, len(vocabulary), BLOCK_SIZE):
            chosen = pa.array(np.arange(first, min(first + BLOCK_SIZE, len(vocabulary))))
            codes, owners = trigrams(*(normalise(column.take(chosen)) for column in columns(vocabulary)))
            owners, codes = np.divmod(np.unique(owners.astype(np.int64) * NUM_CODES + codes), NUM_CODES)
            lengths.append(np.bincount(owners, minlength=len(chosen)))
            found.append(codes.astype(np.uint16))
        return cls(np.cumsum(np.concatenate(lengths)), np.concatenate(found))

    def likeness(self, first: IntArray, second: IntArray) -> npt.NDArray[np.float64]:
        """Compare the names of pairs, shape (n,): twice the trigrams in common over those of both (Dice)."""
        first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        asked = np.unique(first)
        positions, owners = arrays.expand(self.offsets, asked)
        known = asked[owners] * NUM_CODES + self.codes[positions]
        positions, owners = arrays.expand(self.offsets, second)
        is_common = np.isin(first[owners] * NUM_CODES + self.codes[positions], known)
        sizes = np.diff(self.offsets)
        total = np.maximum(sizes[first] + sizes[second], 1)
        return 2 * np.bincount(owners, is_common, minlength=len(second)) / total
