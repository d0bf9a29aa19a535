"""A method with some of its settings changed, by a name: `metar@pre-train`, `rscl@without-local`, `rscl@dropout=0.3`.

So a comparison can hold a method against itself, as the ablations of the paper do (section V-C).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from tripleshot.errors import InputError, did_you_mean
from tripleshot.methods import METHODS, find_method
from tripleshot.training.runs import load_config

MARK = "@"  # between a method and its variant
JOINT = "+"  # between two changes of one variant

LAMBDAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # what the paper tries

VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "metar": {"pre-train": {"regime": "pre-train"}},
    "rscl": {
        "without-distant": {"max_distant": 0},
        "without-global": {"use_global": False},
        "without-local": {"use_local": False},
        "masked-score": {"masked_score": True},
        **{f"lambda-{share:g}": {"global_share": share} for share in LAMBDAS},
    },
}

EVERYTHING = (*METHODS, "metar@pre-train")
"""Every method of the package, MetaR in both of its regimes."""


@dataclass(frozen=True)
class Variant:
    """A method and what is changed in it.

    Attributes:
        method: its name in the table of methods.
        name: names of `VARIANTS` or settings as `name=value`, several with + between; empty is the method as it is.
    """

    method: str
    name: str = ""

    @classmethod
    def read(cls, text: str) -> "Variant":
        """Read METHOD or METHOD@VARIANT, and refuse what is not known."""
        method, mark, name = text.partition(MARK)
        entry = find_method(method)
        if mark and not entry.learns:
            raise InputError(f"{text}: {method} does not learn and has no variants")
        if mark and not name:
            raise InputError(f"{text}: say which variant of {method}: {_known(method)}")
        variant = cls(method, name)
        variant.changes()
        return variant

    def __str__(self) -> str:
        return f"{self.method}{MARK}{self.name}" if self.name else self.method

    def changes(self) -> dict[str, Any]:
        """Return the settings that are other than the method's own."""
        changed: dict[str, Any] = {}
        for part in self.name.split(JOINT) if self.name else ():
            changed |= self._change(part)
        return changed

    def _change(self, part: str) -> dict[str, Any]:
        named = VARIANTS.get(self.method, {})
        setting, equals, value = part.partition("=")
        if not equals:
            if part not in named:
                raise InputError(f"{self.method} has no variant {part!r}: {_known(self.method, part)}")
            return named[part]
        hints = get_type_hints(find_method(self.method).settings)
        if setting not in hints:
            raise InputError(f"{self.method} has no setting {setting!r}{did_you_mean(setting, list(hints))}")
        return {setting: read_value(setting, value, hints[setting])}


def _known(method: str, part: str = "") -> str:
    named = list(VARIANTS.get(method, {}))
    there = f"there are {', '.join(named)}, or any setting as name=value" if named else "give a setting as name=value"
    return f"{there}{did_you_mean(part, named)}"


def read_value(setting: str, text: str, hint: Any) -> Any:  # noqa: ANN401 (a type, or a literal of words)
    """Read the value of a setting as its type wants it."""
    choices = get_args(hint)
    if choices:
        if text not in choices:
            raise InputError(f"{setting} is one of {', '.join(choices)}, not {text!r}")
        return text
    if hint is bool:
        if text not in ("true", "false"):
            raise InputError(f"{setting} is true or false, not {text!r}")
        return text == "true"
    try:
        return hint(text)
    except ValueError:
        raise InputError(f"{setting} is of type {hint.__name__}, not {text!r}") from None


def read_methods(methods: str | Iterable[str] | None) -> tuple[str, ...]:
    """Read names of methods, some perhaps with a variant: a list, or text with commas between; None is everything."""
    if methods is None:
        return EVERYTHING
    names = methods.split(",") if isinstance(methods, str) else list(methods)
    if not names:
        raise InputError("methods: name at least one; `list_methods()` has them all")
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"methods: give names of methods, not {name!r}")
    return tuple(dict.fromkeys(str(Variant.read(name.strip())) for name in names))


@cache
def paper_starts() -> Mapping[str, str]:
    """Return the embedding method whose vectors a method or variant starts from in its paper, as the methods say."""
    starts = {}
    for method, entry in METHODS.items():
        for name in ("", *VARIANTS.get(method, {})) if entry.learns else ():
            variant = Variant(method, name)
            settings = replace(entry.preset("fast"), **variant.changes())
            if start := entry.method_class().paper_init(settings):
                starts[str(variant)] = start
    return starts


def read_starts(pretrained: str | Mapping[str, str] | None) -> dict[str, str]:
    """Read which methods start from which embedding method, and RSCL from the pre-training of which run.

    Args:
        pretrained: method to embedding method, or text such as "gmatching=complex,rscl=runs/rscl"; None is what the
            papers start from, and nothing in it lets every method start from its seed.
    """
    if pretrained is None:
        return dict(paper_starts())
    if isinstance(pretrained, str):
        parts = (part.rpartition("=") for part in filter(None, pretrained.split(",")))
        pretrained = {name.strip(): source.strip() for name, _, source in parts}
    return {name: _read_start(name, source) for name, source in pretrained.items()}


def _read_start(name: str, source: str) -> str:
    entry = find_method(Variant.read(name).method)
    kind = entry.method_class().starts_from if entry.learns else "nothing"
    if kind == "pre-training":
        load_config(Path(source))
        return str(Path(source).resolve())
    if kind == "nothing" or find_method(source).kind != "embedding":
        raise InputError(f"pretrained: {name}={source}: give METHOD=EMBEDDING, such as gmatching=complex")
    return source


def variant_of(method: str, settings: Mapping[str, Any]) -> Variant:
    """Return which named variant a method with these settings is: the one whose changes they all have.

    A setting that is a variant's own only by default (a lambda of .4) makes no variant.
    """
    if method not in VARIANTS:
        return Variant(method)
    usual = {field.name: field.default for field in fields(find_method(method).settings)}
    found = [
        name
        for name, changes in VARIANTS[method].items()
        if all(settings.get(key) == value for key, value in changes.items())
        and any(usual[key] != value for key, value in changes.items())
    ]
    return Variant(method, JOINT.join(found))


def preset_of(method: str, name: str) -> Any:  # noqa: ANN401 (each method has settings of its own)
    """Return settings to start from; a preset that only other methods have means `fast`."""
    try:
        return find_method(method).preset(name)
    except InputError:
        if not any(name in entry.method_class().presets for entry in METHODS.values() if entry.learns):
            raise
        return find_method(method).preset("fast")
