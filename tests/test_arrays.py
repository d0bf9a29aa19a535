import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot import arrays

NUM_ROWS = 6
ROWS = st.lists(st.integers(0, NUM_ROWS - 1), max_size=30)


@given(rows=ROWS)
def test_grouping_keeps_the_order_within_a_row(rows):
    expected = {row: [position for position, other in enumerate(rows) if other == row] for row in range(NUM_ROWS)}
    offsets, order = arrays.group(np.array(rows, dtype=np.int32), NUM_ROWS)
    assert offsets.shape == (NUM_ROWS + 1,)
    assert {row: order[offsets[row] : offsets[row + 1]].tolist() for row in range(NUM_ROWS)} == expected


@given(rows=ROWS, asked=st.lists(st.integers(0, NUM_ROWS - 1), max_size=10))
def test_expanding_lays_the_asked_rows_end_to_end(rows, asked):
    offsets, order = arrays.group(np.array(rows, dtype=np.int32), NUM_ROWS)
    positions, owners = arrays.expand(offsets, np.array(asked, dtype=np.int64))
    expected = [
        (owner, position) for owner, row in enumerate(asked) for position, other in enumerate(rows) if other == row
    ]
    assert list(zip(owners.tolist(), order[positions].tolist(), strict=True)) == expected


def test_a_frozen_array_cannot_be_written():
    array = arrays.frozen(np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
