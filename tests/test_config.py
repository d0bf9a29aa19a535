from dataclasses import asdict, fields

import pytest

from tripleshot.config import PRESETS, Overrides, RSCLSettings, fast, paper, read_settings
from tripleshot.errors import InputError


def test_the_papers_values_are_the_defaults():
    settings = paper()
    assert (settings.width, settings.num_layers, settings.num_heads) == (100, 4, 4)
    assert (settings.max_neighbors, settings.max_distant) == (8, 5)
    assert (settings.global_share, settings.margin, settings.batch_size) == (0.4, 5.0, 256)
    assert (settings.learning_rate, settings.steps, settings.validate_every) == (1e-3, 300_000, 10_000)


def test_every_setting_is_explained_and_can_be_overridden():
    assert RSCLSettings.__doc__ is not None
    for field in fields(RSCLSettings):
        assert f"        {field.name}: " in RSCLSettings.__doc__
    assert {field.name for field in fields(Overrides)} == {field.name for field in fields(RSCLSettings)}


def test_presets_survive_their_way_through_json():
    for preset in PRESETS.values():
        assert RSCLSettings(**asdict(preset())) == preset()


def test_a_toml_file_replaces_some_settings(tmp_path):
    (tmp_path / "my.toml").write_text('width = 50\nregime = "in-train"\nmargin = 3\n')
    settings = read_settings(tmp_path / "my.toml", fast())
    assert (settings.width, settings.regime, settings.margin) == (50, "in-train", 3)
    assert settings.num_layers == fast().num_layers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("widht = 50", "unknown setting 'widht'; did you mean 'width'"),
        ('width = "wide"', "width is a int, found 'wide'"),
        ("width = ", "cannot be read as TOML"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, message):
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(InputError, match=f"my.toml: {message}"):
        read_settings(tmp_path / "my.toml", fast())


@pytest.mark.parametrize(
    "wrong", [{"dropout": 1.5}, {"use_global": False, "use_local": False}, {"max_neighbors": 2}, {"global_share": -1.0}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError):
        RSCLSettings(**wrong)
