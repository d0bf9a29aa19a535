"""Names by hash: where a name stands among millions, without reading them.

The hashes are sorted, and a hash that is found is checked against the name itself. They depend on nothing but the
name, so that they can be kept on disk.
"""

from collections.abc import Iterator, Sequence
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

    def find(self, asked: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return which texts are equal to one that is asked for.

        Arrow's own comparison would import pandas first, where it is installed, and take longer than all the rest.

        Returns:
            owners: in order, the place of the text among those that are asked for.
            places: where an equal text stands, in order for each owner.
        """
        content = [text.encode("utf-8", "surrogatepass") for text in asked]
        wanted = hash_bytes(np.frombuffer(b"".join(content), dtype=np.uint8), np.cumsum([0, *map(len, content)]))
        first, last = (np.searchsorted(self.hashes, wanted, side=side).tolist() for side in ("left", "right"))
        found = [
            (owner, place)
            for owner, text in enumerate(asked)
            for place in self.places[first[owner] : last[owner]].tolist()
            if self.texts[place].as_py() == text
        ]
        owners, places = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return owners, places


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
    """Return 64 bits for each text; those of a null mean nothing."""
    _, offsets, content = texts.buffers()
    if content is None or not len(texts):
        return hash_bytes(np.empty(0, dtype=np.uint8), np.zeros(len(texts) + 1, dtype=np.int64))
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return hash_bytes(np.frombuffer(content, dtype=np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0])


def hash_bytes(content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each row of bytes: a polynomial over the bytes, stirred."""
    lengths = np.diff(offsets)
    sums = np.zeros(len(lengths), dtype=np.uint64)
    if len(content):
        terms = content.astype(np.uint64) + np.uint64(1)
        places = np.arange(len(content)) - np.repeat(offsets[:-1], lengths)
        terms *= np.multiply.accumulate(np.full(int(lengths.max()), FACTOR))[places]
        sums[lengths > 0] = np.add.reduceat(terms, offsets[:-1][lengths > 0])
    sums += lengths.astype(np.uint64)
    for mixer in MIXERS:
        sums ^= sums >> HALF
        sums *= mixer
    return sums ^ (sums >> HALF)
