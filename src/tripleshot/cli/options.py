"""Settings of the methods on the command line: every field of every method is a flag, and a line of a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from cyclopts import Parameter

from tripleshot.errors import InputError, did_you_mean
from tripleshot.methods.settings import HELP, described_fields

Settings = TypeVar("Settings", bound=Any)


def overrides_of(settings: Mapping[str, type]) -> type:
    """Return a class with every field of these settings, None by default, which leaves a setting as it is.

    Args:
        settings: name of each method to the class of its settings; a field that several have means the same in all.
    """
    types: dict[str, Any] = {}
    texts: dict[str, str] = {}
    owners: dict[str, list[str]] = {}
    for method, kind in settings.items():
        explained = {own.name: described.get(HELP, "") for own, described in described_fields(kind)}
        for name, hint in get_type_hints(kind).items():
            types.setdefault(name, hint)
            texts.setdefault(name, explained[name])
            owners.setdefault(name, []).append(method)
    made = make_dataclass(
        "Overrides",
        [
            (name, Annotated[hint | None, Parameter(help=_help(texts[name], owners[name], len(settings)))], None)
            for name, hint in types.items()
        ],
        frozen=True,
    )
    made.__doc__ = "Single settings to put in place of others."
    made.__module__ = __name__  # the command line looks into classes of modules only
    return made


def _help(text: str, owners: list[str], num_methods: int) -> str:
    return text if len(owners) == num_methods else f"{text} [{', '.join(owners)}]"


def use_threads(threads: int | None) -> None:
    """Compute with so many CPU threads; None leaves it to the machine."""
    if threads:
        import torch  # nobody else waits for it

        torch.set_num_threads(threads)


def choose_settings(base: Settings, file: Path | None, flags: object, method: str) -> Settings:
    """Take the preset, then the file's values, then the flags."""
    chosen = read_settings(file, base) if file else base
    given = {name: value for name, value in vars(flags).items() if value is not None}
    known = {field.name for field in fields(base)}
    for name in given:
        if name not in known:
            raise InputError(f"{method} has no setting --{name.replace('_', '-')}{did_you_mean(name, sorted(known))}")
    return replace(chosen, **given)


def read_settings(path: Path, base: Settings) -> Settings:
    """Return settings with the values of a TOML file in place of some."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: cannot be read as TOML: {error}") from None
    known = [field.name for field in fields(base)]
    for name, value in values.items():
        if name not in known:
            raise InputError(f"{path}: unknown setting {name!r}{did_you_mean(name, known)}")
        wanted = type(getattr(base, name))
        if not isinstance(value, wanted) and not (wanted is float and isinstance(value, int)):
            raise InputError(f"{path}: {name} is a {wanted.__name__}, found {value!r}")
    return replace(base, **values)
