from dataclasses import asdict

import pytest

from tripleshot.errors import InputError
from tripleshot.methods.rscl.settings import PRESETS, RSCLSettings, paper
from tripleshot.methods.settings import HELP, described_fields


def test_the_papers_values_are_the_defaults():
    settings = paper()
    assert (settings.width, settings.num_layers, settings.num_heads) == (100, 4, 4)
    assert (settings.max_neighbors, settings.max_distant) == (8, 5)
    assert (settings.global_share, settings.margin, settings.batch_size) == (0.4, 5.0, 256)
    assert (settings.learning_rate, settings.steps, settings.validate_every) == (1e-3, 300_000, 10_000)


def test_presets_survive_their_way_through_json():
    for preset in PRESETS.values():
        assert RSCLSettings(**asdict(preset())) == preset()


def test_every_setting_says_what_it_is():
    assert [own.name for own, described in described_fields(RSCLSettings) if not described.get(HELP)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"dropout": 1.5},
        {"use_global": False, "use_local": False},
        {"max_neighbors": 2},
        {"global_share": -1.0},
        {"masked_score": True, "use_global": False},
        {"masked_score": True, "pretraining_steps": 0},
        {"frozen_elements": True, "pretraining_steps": 0},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError):
        RSCLSettings(**wrong)
