"""Rows of different lengths in two flat arrays: the one data structure behind neighbors, types and known tails.

Row `i` of a compressed sparse row (CSR) layout is `values[offsets[i]:offsets[i + 1]]`. Everything here works on many
rows at once, so that nothing above it loops over triples.
"""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer]


def group(rows: IntArray, num_rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sort positions by row, keeping their order within a row.

    Returns:
        offsets: shape (num_rows + 1,), where each row starts and ends.
        order: shape (len(rows),), positions of `rows` so that those of row i stand at offsets[i] to offsets[i + 1].
    """
    offsets = np.zeros(num_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=num_rows), out=offsets[1:])
    return offsets, np.argsort(rows, kind="stable")


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


def frozen(array: npt.NDArray) -> npt.NDArray:
    """Forbid writing to an array that others will share."""
    array.flags.writeable = False
    return array
