"""What the package does with plain arrays: rows of different lengths, sorted keys, draws for many rows at once.

Row `i` of a compressed sparse row (CSR) layout is `values[offsets[i]:offsets[i + 1]]`: the one data structure behind
neighbors, types and known tails. Everything here works on many rows at once, so that nothing above it loops over
triples.
"""

import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer]
FloatArray = npt.NDArray[np.floating]


def group(rows: IntArray, num_rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sort positions by row, keeping their order within a row.

    Returns:
        offsets: shape (num_rows + 1,), where each row starts and ends.
        order: shape (len(rows),), positions of `rows` so that those of row i stand at offsets[i] to offsets[i + 1].
    """
    offsets = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=num_rows), out=offsets[1:])
    return offsets, sort_positions(rows)


def sort_positions(keys: IntArray) -> npt.NDArray[np.int64]:
    """Return the positions of keys, none below 0, in the order of the keys; those of equal keys stay in order.

    Key and position are packed into one number and sorted as such, which takes a seventh of the time of a stable
    argsort.
    """
    num_bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + num_bits > 63:
        return np.argsort(keys, kind="stable")
    packed = keys.astype(np.int64)
    packed <<= num_bits
    packed |= np.arange(len(keys))
    packed.sort()
    packed &= (1 << num_bits) - 1
    return packed


def expand(offsets: npt.NDArray[np.int64], rows: IntArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Lay the asked rows end to end, a row as often as it is asked for.

    Returns:
        positions: where each value of each asked row stands in the flat arrays.
        owners: for each position, which of the asked rows (0 to len(rows) - 1) it belongs to.
    """
    lengths = offsets[rows + 1] - offsets[rows]
    owners = np.repeat(np.arange(len(rows)), lengths)
    starts = np.cumsum(lengths) - lengths
    positions = np.arange(len(owners)) - starts[owners] + offsets[rows][owners]
    return positions, owners


def sum_rows(values: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Add up the values, shape (m, k), of each row of a CSR layout: shape (n, k), zero for an empty row."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return sums[offsets[1:]] - sums[offsets[:-1]]


def lookup(sorted_keys: IntArray, asked: IntArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Find each asked key among sorted ones.

    Returns:
        positions: the shape of `asked`, where each key stands first; any position for a key that is not there, 0 if
            there are no keys at all.
        found: the shape of `asked`, whether the key is there.
    """
    asked = np.asarray(asked)
    if not len(sorted_keys):
        return np.zeros(asked.shape, dtype=np.int64), np.zeros(asked.shape, dtype=bool)
    positions = np.minimum(np.searchsorted(sorted_keys, asked), len(sorted_keys) - 1)
    return positions, sorted_keys[positions] == asked


def find_in_rows(
    offsets: npt.NDArray[np.int64], values: IntArray, rows: IntArray, asked: IntArray
) -> npt.NDArray[np.int64]:
    """Find each asked value in a row of a CSR layout whose values are sorted within every row.

    All searches go on at the same time, one comparison each at every turn. Nothing but `values` is kept for them: keys
    that name row and value at once would take eight bytes for every value.

    Args:
        offsets: shape (num_rows + 1,), where each row starts and ends.
        values: sorted within a row.
        rows: shape (n,), the row to look in.
        asked: shape (n,), the value to look for.

    Returns:
        shape (n,), where each value stands first in its row; -1 where it is not there.
    """
    asked = np.asarray(asked)
    first, ends = offsets[rows], offsets[np.asarray(rows) + 1]
    lengths = ends - first
    for _ in range(int(lengths.max(initial=0)).bit_length()):
        half = lengths >> 1
        middle = first + half
        is_below = (lengths > 0) & (values[np.minimum(middle, len(values) - 1)] < asked)
        first = np.where(is_below, middle + 1, first)
        lengths = np.where(is_below, lengths - half - 1, half)
    if not len(values):
        return np.full(first.shape, -1)
    found = (first < ends) & (values[np.minimum(first, len(values) - 1)] == asked)
    return np.where(found, first, -1)


def draw_without_replacement(
    sizes: npt.NDArray[np.int64], count: int, draw_below: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64]:
    """Draw `count` distinct numbers below each size with Floyd's algorithm, in no random order.

    Args:
        sizes: shape (n,).
        count: numbers per size.
        draw_below: one number from 0 to each bound, the bound not included: `rng.integers`, or something faster. It
            decides how a random generator is used up, and so what is drawn from a seed.

    Returns:
        shape (n, count); 0 to count - 1 for a size that is no larger than `count`.
    """
    numbers = np.tile(np.arange(count), (len(sizes), 1))
    rich = np.flatnonzero(sizes > count)
    drawn = np.empty((len(rich), count), dtype=np.int64)
    for turn in range(count):
        last = sizes[rich] - count + turn
        pick = draw_below(last + 1)
        is_taken = (drawn[:, :turn] == pick[:, None]).any(axis=1)
        drawn[:, turn] = np.where(is_taken, last, pick)
    numbers[rich] = drawn
    return numbers


def hash_arrays(*columns: npt.NDArray | memoryview | bytes | str) -> str:
    """Return a SHA-256 over the types, lengths and values of columns, and over texts."""
    digest = hashlib.sha256()
    for column in columns:
        content = column.encode() if isinstance(column, str) else column
        kind = f"{content.dtype.str}:" if isinstance(content, np.ndarray) else ""
        digest.update(f"{kind}{len(content)}:".encode())
        digest.update(np.ascontiguousarray(content).data if isinstance(content, np.ndarray) else content)
    return digest.hexdigest()


def is_integer(value: object) -> bool:
    """Tell whether a value is a whole number, of Python or of numpy; True is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def frozen(array: npt.NDArray) -> npt.NDArray:
    """Forbid writing to an array that others will share."""
    array.flags.writeable = False
    return array
