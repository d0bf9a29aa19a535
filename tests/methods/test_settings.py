from dataclasses import fields, replace

import pytest

from tripleshot.errors import InputError
from tripleshot.methods import METHODS, find_method
from tripleshot.methods.settings import AT_LEAST_ONE, SHARES

LEARNERS = [name for name, entry in METHODS.items() if entry.learns]


def numbers(settings):
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return [name for name, value in values.items() if type(value) in (int, float)]


@pytest.mark.parametrize("method", LEARNERS)
def test_numbers_that_make_no_sense_are_refused_by_name(method):
    settings = find_method(method).preset("fast")
    for name in numbers(settings):
        wrong = [-1, float("nan")] + [0] * (name in AT_LEAST_ONE) + [1.5] * name.endswith(SHARES)
        for value in wrong:
            with pytest.raises(InputError, match=name):
                replace(settings, **{name: value})


def test_every_number_that_cannot_be_zero_belongs_to_some_method():
    assert set(AT_LEAST_ONE) <= {name for method in LEARNERS for name in numbers(find_method(method).preset("fast"))}
