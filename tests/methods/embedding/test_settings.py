from dataclasses import replace

import pytest

from tripleshot.errors import InputError
from tripleshot.methods.embedding.settings import DEFAULTS, EmbeddingSettings, presets_of


@pytest.mark.parametrize("variant", DEFAULTS)
def test_each_model_starts_from_settings_of_its_own_and_its_tiny_preset_keeps_the_loss(variant):
    presets = presets_of(variant)
    assert presets["fast"]() == DEFAULTS[variant]
    assert presets["tiny"]().loss == DEFAULTS[variant].loss
    assert presets["tiny"]().steps < 100


@pytest.mark.parametrize("change", [{"norm": 3}, {"width": 0}, {"num_negatives": 0}])
def test_settings_that_make_no_sense_are_refused(change):
    with pytest.raises(InputError):
        replace(EmbeddingSettings(), **change)
