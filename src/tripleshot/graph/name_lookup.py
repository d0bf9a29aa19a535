"""Names by hash: where a name stands among millions, without reading them.

The hashes are sorted, and a hash that is found is checked against the name itself. They depend on nothing but the
name, so that they can be kept on disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.graph.index_files import Columns

NAMES_PER_BLOCK = 1 << 16
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no byte is lost
MIXERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))  # those of MurmurHash3
HALF = np.uint64(33)


@dataclass(frozen=True, eq=False)
class NameLookup:
    """Sorted hashes of texts, and where the texts stand.

    Attributes:
        texts: shape (n,), not necessarily different; null where there is none.
        hashes: shape (m,), of those that are not null, in order.
        places: shape (m,), where each of them stands among the texts.
    """

    texts: pa.LargeStringArray
    hashes: npt.NDArray[np.uint64]
    places: npt.NDArray[np.int32]

    def find(self, asked: pa.LargeStringArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return which texts are equal to one that is asked for.

        Returns:
            owners: in order, the place of the text among those that are asked for.
            places: where an equal text stands, in order for each owner.
        """
        wanted = hash_texts(asked)
        first, last = (np.searchsorted(self.hashes, wanted, side=side) for side in ("left", "right"))
        owners = np.repeat(np.arange(len(wanted)), last - first)
        starts = np.cumsum(last - first) - (last - first)
        places = self.places[np.arange(len(owners)) - starts[owners] + first[owners]].astype(np.int64)
        is_equal = pc.equal(self.texts.take(pa.array(places)), asked.take(pa.array(owners)))
        kept = pc.fill_null(is_equal, False).to_numpy(zero_copy_only=False)
        return owners[kept], places[kept]


def lookup_blocks(texts: pa.LargeStringArray) -> Iterator[Columns]:
    """Hash all texts, some at a time, and sort the hashes: the columns of `NameLookup`."""
    given = np.arange(len(texts), dtype=np.int32)
    if texts.null_count:
        given = given[pc.is_valid(texts).to_numpy(zero_copy_only=False)]
    hashes = np.empty(len(texts), dtype=np.uint64)
    for start in range(0, len(texts), NAMES_PER_BLOCK):
        hashes[start : start + NAMES_PER_BLOCK] = hash_texts(texts.slice(start, NAMES_PER_BLOCK))
    hashes = hashes[given]
    order = np.argsort(hashes, kind="stable")
    yield {"hashes": hashes[order], "places": given[order]}


def hash_texts(texts: pa.LargeStringArray) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each text: a polynomial over its bytes, stirred; those of a null mean nothing."""
    _, offsets, content = texts.buffers()
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(bounds)
    sums = np.zeros(len(texts), dtype=np.uint64)
    if bounds[-1] > bounds[0]:
        letters = np.frombuffer(content, dtype=np.uint8)[bounds[0] : bounds[-1]].astype(np.uint64) + np.uint64(1)
        places = np.arange(len(letters)) - np.repeat(bounds[:-1] - bounds[0], lengths)
        powers = np.multiply.accumulate(np.full(int(lengths.max()), FACTOR))
        letters *= powers[places]
        is_given = lengths > 0
        sums[is_given] = np.add.reduceat(letters, (bounds[:-1] - bounds[0])[is_given])
    sums += lengths.astype(np.uint64)
    for mixer in MIXERS:
        sums ^= sums >> HALF
        sums *= mixer
    return sums ^ (sums >> HALF)
