"""Validations: all queries as an evaluation ranks them, or the first in an order that is the same each time."""

import numpy as np
import pytest

from tripleshot.evaluation.protocol import evaluate
from tripleshot.evaluation.validation import Validation, Validator
from tripleshot.methods import create_method
from tripleshot.training.fit import fit

SHOTS = 3


def never():
    return False


def after(count):
    """Return a function that tells, from its so-manieth call on, that time is over."""
    calls = iter(range(1, 10_000))
    return lambda: next(calls) >= count


@pytest.fixture
def method(tiny):
    made = create_method("evidence")
    fit(made, tiny, SHOTS)
    return made


@pytest.mark.parametrize("is_over", [None, never])
def test_with_time_for_all_queries_it_is_an_evaluation(tiny, method, is_over):
    found = Validator(method, tiny, SHOTS).validate(is_over=is_over)
    expected = evaluate(method, tiny, SHOTS, "valid")
    np.testing.assert_array_equal(found.reciprocal_ranks, 1 / expected.ranks.pessimistic)
    assert found.mrr == expected.mrr
    assert found.num_asked == len(expected)


@pytest.mark.parametrize("count", [1, 5, 12])
def test_it_stops_after_the_head_at_which_time_is_over(tiny, method, count):
    found = Validator(method, tiny, SHOTS).validate(is_over=after(count))
    assert (found.num_heads, found.num_asked) == (count, count)  # every head has one query
    whole = Validator(method, tiny, SHOTS).validate()
    asked = found.reciprocal_ranks > 0
    np.testing.assert_array_equal(found.reciprocal_ranks[asked], whole.reciprocal_ranks[asked])


def test_a_number_of_heads_asks_the_same_ones_each_time(tiny, method):
    validator = Validator(method, tiny, SHOTS)
    first = validator.validate(is_over=after(9))
    again = validator.validate(first.num_heads, never)
    np.testing.assert_array_equal(again.reciprocal_ranks, first.reciprocal_ranks)
    other = Validator(method, tiny, SHOTS).validate(9, never)
    np.testing.assert_array_equal(other.reciprocal_ranks, first.reciprocal_ranks)


def test_one_that_is_cut_short_asked_some_of_what_a_longer_one_asked(tiny, method):
    validator = Validator(method, tiny, SHOTS)
    short, longer = (validator.validate(is_over=after(count)).reciprocal_ranks > 0 for count in (4, 9))
    assert not (short & ~longer).any()


def test_what_only_one_of_two_asked_does_not_count_between_them():
    found = Validation(np.array([0.5, 0.2, 0.0]), 2)
    assert found.mrr == pytest.approx(0.35)
    assert found.is_better_than(np.array([0.4, 0.0, 1.0]))
    assert not found.is_better_than(np.array([0.5, 0.2, 1.0]))
