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


@given(st.lists(st.integers(0, 5) | st.integers(0, 2**62), max_size=30))
def test_positions_are_sorted_by_keys_and_those_of_equal_keys_stay_in_order(keys):
    assert arrays.sort_positions(np.array(keys, dtype=np.int64)).tolist() == sorted(
        range(len(keys)), key=keys.__getitem__
    )


@given(rows=ROWS, asked=st.lists(st.integers(0, NUM_ROWS - 1), max_size=10))
def test_expanding_lays_the_asked_rows_end_to_end(rows, asked):
    offsets, order = arrays.group(np.array(rows, dtype=np.int32), NUM_ROWS)
    positions, owners = arrays.expand(offsets, np.array(asked, dtype=np.int64))
    expected = [
        (owner, position) for owner, row in enumerate(asked) for position, other in enumerate(rows) if other == row
    ]
    assert list(zip(owners.tolist(), order[positions].tolist(), strict=True)) == expected


def test_an_empty_row_sums_to_zero():
    assert arrays.sum_rows(np.array([[1.0], [2.0]]), np.array([0, 0, 2, 2])).tolist() == [[0], [3], [0]]


@given(keys=st.lists(st.integers(-5, 5), max_size=12), asked=st.lists(st.integers(-7, 7), max_size=12))
def test_a_lookup_finds_the_first_place_of_each_key_that_is_there(keys, asked):
    keys.sort()
    positions, found = arrays.lookup(np.array(keys, dtype=np.int64), np.array(asked, dtype=np.int64))
    assert found.tolist() == [key in keys for key in asked]
    assert positions[found].tolist() == [keys.index(key) for key in asked if key in keys]
    assert all(0 <= position < max(len(keys), 1) for position in positions)


def test_a_lookup_keeps_the_shape_of_what_is_asked():
    positions, found = arrays.lookup(np.array([1, 3]), np.array([[3, 2], [1, 4]]))
    assert found.tolist() == [[True, False], [True, False]]
    assert positions[found].tolist() == [1, 0]


@given(rows=st.lists(st.lists(st.integers(0, 8), max_size=9), max_size=6), data=st.data())
def test_a_value_is_found_in_its_own_row_where_it_stands_first(rows, data):
    rows = [sorted(row) for row in rows]
    places = st.tuples(st.integers(0, max(len(rows) - 1, 0)), st.integers(-1, 9))
    asked = data.draw(st.lists(places, max_size=12 if rows else 0))
    offsets = np.cumsum([0, *map(len, rows)])
    values = np.array([value for row in rows for value in row], dtype=np.int32)
    which, wanted = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    found = arrays.find_in_rows(offsets, values, which, wanted)
    expected = [offsets[row] + rows[row].index(value) if value in rows[row] else -1 for row, value in asked]
    assert found.tolist() == expected


@given(sizes=st.lists(st.integers(0, 9), max_size=6), count=st.integers(0, 5), seed=st.integers(0, 9))
def test_numbers_drawn_without_replacement_are_distinct_and_below_the_size(sizes, count, seed):
    sizes = np.array(sizes, dtype=np.int64)
    drawn = arrays.draw_without_replacement(sizes, count, np.random.default_rng(seed).integers)
    assert drawn.shape == (len(sizes), count)
    for size, numbers in zip(sizes, drawn.tolist(), strict=True):
        assert len(set(numbers)) == count
        assert all(0 <= number < max(size, count) for number in numbers)
        assert size > count or numbers == list(range(count))


def test_numbers_drawn_without_replacement_are_equally_likely():
    drawn = arrays.draw_without_replacement(np.full(6000, 5), 2, np.random.default_rng(0).integers)
    np.testing.assert_allclose(np.bincount(drawn.ravel()) / drawn.size, 0.2, atol=0.02)


def test_a_frozen_array_cannot_be_written():
    array = arrays.frozen(np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_a_hash_tells_values_types_and_borders_apart():
    one, two = np.array([1, 2], dtype=np.int32), np.array([3], dtype=np.int32)
    different = [(one, two), (two, one), (np.array([1, 2, 3], dtype=np.int32),), (one.astype(np.int64), two), ("ab",)]
    different += [("a", "b"), (memoryview(b"ab"), "")]
    assert len({arrays.hash_arrays(*columns) for columns in different}) == len(different)
    assert arrays.hash_arrays(one[::-1][::-1], two) == arrays.hash_arrays(one, two)
