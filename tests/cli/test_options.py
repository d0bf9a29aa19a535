from dataclasses import dataclass, fields
from typing import get_args, get_type_hints

import pytest

from tripleshot.cli.options import choose_settings, overrides_of, read_settings
from tripleshot.cli.train import Overrides
from tripleshot.errors import InputError
from tripleshot.methods import METHODS
from tripleshot.methods.rscl.settings import fast
from tripleshot.methods.settings import HELP, described_fields, setting

LEARNING = {name: entry for name, entry in METHODS.items() if entry.learns}


@dataclass(frozen=True)
class Small:
    """Settings of something small."""

    width: int = setting(3, "how wide, all in all")
    depth: float = setting(1.0, "how deep")


@dataclass(frozen=True)
class Other:
    """Settings of something else."""

    width: int = setting(5, "how wide")
    name: str = setting("", "what it is called")


@pytest.mark.parametrize("name", LEARNING)
def test_every_setting_is_explained_and_can_be_overridden(name):
    kind = LEARNING[name].settings
    assert all(described.get(HELP) for _, described in described_fields(kind))
    assert {field.name for field in fields(kind)} <= {field.name for field in fields(Overrides)}


def test_a_setting_that_several_methods_have_is_of_one_type():
    types: dict[str, object] = {}
    for entry in LEARNING.values():
        for field in fields(entry.settings):
            assert types.setdefault(field.name, field.type) == field.type, field.name


def test_flags_of_several_methods_are_put_together():
    made = overrides_of({"small": Small, "other": Other})
    assert [field.name for field in fields(made)] == ["width", "depth", "name"]
    width, depth, _ = (get_type_hints(made, include_extras=True)[field.name] for field in fields(made))
    assert get_args(width)[1].help == "how wide, all in all"
    assert get_args(depth)[1].help == "how deep [small]"


def test_flags_stand_above_the_file_and_the_file_above_the_preset(tmp_path):
    made = overrides_of({"small": Small, "other": Other})
    (tmp_path / "my.toml").write_text("width = 7\ndepth = 2\n")
    assert choose_settings(Small(), tmp_path / "my.toml", made(width=9), "small") == Small(9, 2)


def test_a_flag_of_another_method_is_refused():
    made = overrides_of({"small": Small, "other": Other})
    with pytest.raises(InputError, match="small has no setting --name"):
        choose_settings(Small(), None, made(name="x"), "small")


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
