"""Settings carry their bounds and their help: a wrong number is refused by name, and every flag can be explained."""

from dataclasses import dataclass, fields, replace

import pytest

from tripleshot.errors import InputError
from tripleshot.methods import METHODS, find_method
from tripleshot.methods.settings import (
    AT_LEAST,
    AT_MOST,
    HELP,
    TrainingSettings,
    count,
    described_fields,
    setting,
    share,
)

LEARNERS = [name for name, entry in METHODS.items() if entry.learns]


@dataclass(frozen=True)
class Settings(TrainingSettings):
    width: int = count(8, "how wide")
    dropout: float = share(0.5, "how much is left out")
    norm: int = setting(1, "of distances", at_least=1, at_most=2)
    steps: int = 20


@pytest.mark.parametrize("method", LEARNERS)
def test_numbers_that_make_no_sense_are_refused_by_name(method):
    settings = find_method(method).preset("fast")
    for field, described in described_fields(type(settings)):
        if type(getattr(settings, field.name)) not in (int, float):
            continue
        for wrong in (-1, float("nan"), described[AT_LEAST] - 1, described[AT_MOST] + 0.5):
            with pytest.raises(InputError, match=field.name):
                replace(settings, **{field.name: wrong})


@pytest.mark.parametrize("method", LEARNERS)
def test_sizes_must_be_one_or_more_and_rates_of_dropout_are_shares(method):
    for field, described in described_fields(find_method(method).settings):
        if field.name.endswith(("width", "batch_size", "num_negatives", "num_layers", "num_heads", "max_neighbors")):
            assert described[AT_LEAST] >= 1, field.name
        if field.name.endswith(("dropout", "_share")):
            assert described[AT_MOST] == 1, field.name


@pytest.mark.parametrize("method", LEARNERS)
def test_every_setting_is_explained_and_the_classes_of_settings_are_three_at_most(method):
    kind = find_method(method).settings
    assert all(described[HELP] for _, described in described_fields(kind))
    assert kind.mro().index(TrainingSettings) <= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width must be 1 or more, not 0"),
        ({"dropout": 1.5}, "dropout is a share between 0 and 1, not 1.5"),
        ({"norm": 3}, "norm must be between 1 and 2, not 3"),
        ({"steps": -1}, "steps must be 0 or more, not -1"),
    ],
)
def test_a_message_says_what_a_number_may_be(change, message):
    with pytest.raises(InputError, match=message):
        replace(Settings(), **change)


def test_a_class_that_changes_a_default_keeps_help_and_bounds():
    described = {field.name: described for field, described in described_fields(Settings)}
    assert described["steps"][HELP] == "training steps"
    assert [field.name for field in fields(Settings)][:2] == ["steps", "learning_rate"]
    assert Settings().steps == 20
