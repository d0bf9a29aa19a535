"""The one table of names: everything that can score.

A method of another package is found by its entry point in the group `tripleshot.methods`.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tripleshot.errors import InputError, did_you_mean, warn
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import find_device

ENTRY_POINTS = "tripleshot.methods"


@dataclass(frozen=True)
class MethodEntry:
    """A method in the table.

    Attributes:
        kind: the family it belongs to.
        summary: one line for `tripleshot methods`.
        place: module and class; it is imported when the method is made, so that nobody waits for what they do not use.
        learns: it has to be trained before it can score.
        variant: which of the methods that the place can make; empty where it makes one only.
    """

    kind: str
    summary: str
    place: str
    learns: bool = False
    variant: str = ""

    def create(self, settings: dict[str, Any] | None = None, device: str = "cpu") -> Method:
        """Return a fresh method; None takes its default settings, which are the `fast` preset of one that learns."""
        found = self.method_class()
        if not self.learns:
            if device != "cpu":
                find_device(device)
            return found(**(settings or {}))
        return found(device=device) if settings is None else found.with_settings(settings, device)

    @property
    def settings(self) -> type:
        """The class of the settings of a method that learns."""
        return self.method_class().Settings

    def setting_names(self) -> set[str]:
        """Return the names of the method's settings."""
        if self.learns:
            return {field.name for field in fields(self.settings)}
        found = self.method_class()
        return {field.name for field in fields(found) if field.init} if is_dataclass(found) else set()

    def preset(self, name: str) -> Any:  # noqa: ANN401 (each method has settings of its own)
        """Return settings to start from."""
        presets = self.method_class().presets
        if name not in presets:
            raise InputError(
                f"there is no preset {name!r}, there are {', '.join(presets)}{did_you_mean(name, [*presets])}"
            )
        return presets[name]()

    def method_class(self) -> Any:  # noqa: ANN401 (the classes share a protocol, not a base)
        """Import the class of the method."""
        module, _, name = self.place.partition(":")
        found = getattr(import_module(module), name)
        return found(self.variant) if self.variant else found


def _entry(kind: str, place: str, summary: str) -> MethodEntry:
    """Return an entry of this package; every method learns but the training-free ones."""
    return MethodEntry(kind, summary, f"{__name__}.{place}", learns=kind != TRAINING_FREE)


TRAINING_FREE = "evidence"
METHODS: dict[str, MethodEntry] = {
    "degree": _entry("evidence", "evidence.baselines:Degree", "entities with more edges first, whatever is asked"),
    "support-frequency": _entry(
        "evidence", "evidence.baselines:SupportFrequency", "tails of the examples first, then by degree"
    ),
    "linked": _entry(
        "evidence", "evidence.baselines:Linked", "linked to the head, then tails of the examples, then by degree"
    ),
    "evidence": _entry(
        "evidence", "evidence.baselines:Evidence", "links, paths that the examples share and support frequency, added"
    ),
    "universal": _entry(
        "evidence", "evidence.universal:Universal", "evidence-net with the weights of the package, for any graph"
    ),
    "rscl": _entry("neural", "rscl.method:RSCLMethod", "relation-specific context learning, the paper's model"),
    "evidence-net": _entry(
        "neural", "evidence.evidence_net:EvidenceNet", "a network that weighs links, paths, examples and similarity"
    ),
    "metar": _entry(
        "few-shot", "fewshot.metar:MetaRMethod", "a relation's vector from its examples, moved by their gradient"
    ),
    "gana": _entry(
        "few-shot", "fewshot.gana:GANAMethod", "MetaR with gated neighbors, an LSTM over examples, hyperplanes"
    ),
    "gmatching": _entry(
        "few-shot", "fewshot.gmatching:GMatchingMethod", "mean of the neighbors, pairs matched by an LSTM"
    ),
    "fsrl": _entry("few-shot", "fewshot.fsrl:FSRLMethod", "GMatching with attention to neighbors and to examples"),
    "faan": _entry("few-shot", "fewshot.faan:FAANMethod", "neighbors and examples that fit the pair, a transformer"),
    "transe": _entry("embedding", "embedding.method:TransE", "a relation is a translation: h + r near t"),
    "transh": _entry("embedding", "embedding.method:TransH", "TransE on a hyperplane of each relation"),
    "transr": _entry("embedding", "embedding.method:TransR", "TransE in a space of each relation"),
    "rescal": _entry("embedding", "embedding.method:RESCAL", "a relation is a matrix: h M t"),
    "distmult": _entry("embedding", "embedding.method:DistMult", "a relation weighs each dimension: the sum of h r t"),
    "complex": _entry(
        "embedding", "embedding.method:ComplEx", "DistMult with complex numbers, which tell heads from tails"
    ),
}


PYKEEN = "pykeen:"


@cache
def plugins() -> dict[str, EntryPoint]:
    """Return where other packages have their methods, by name; nothing of them is imported."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in METHODS}


def _load_plugin(point: EntryPoint) -> MethodEntry:
    """Import the method of another package; whatever goes wrong there is an error that names it."""
    try:
        found = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"method {point.name!r} ({point.value}) cannot be imported: {reason}") from error
    learns = hasattr(found, "stages")
    needed = ("prepare", "score", *(("Settings", "presets", "restore") if learns else ()))
    if missing := ", ".join(name for name in needed if not hasattr(found, name)):
        raise InputError(f"method {point.name!r} ({point.value}) is no method: it has no {missing}")
    summary = (found.__doc__ or point.value).strip().splitlines()[0]
    return MethodEntry("plugin", summary, point.value, learns)


def find_method(name: str) -> MethodEntry:
    """Return the table's entry for a name; `pykeen:` and the name of one of its models is a method, too."""
    if name.startswith(PYKEEN) and name != PYKEEN:
        model = name.removeprefix(PYKEEN)
        place = "tripleshot.methods.embedding.pykeen:pykeen_method"
        return MethodEntry("pykeen", f"{model} as PyKEEN has it", place, True, model)
    if name in METHODS:
        return METHODS[name]
    if name in plugins():
        return _load_plugin(plugins()[name])
    every = list_methods()
    raise InputError(f"unknown method {name!r}, there are {', '.join(every)}{did_you_mean(name, every)}")


def create_method(name: str, settings: dict[str, Any] | None = None, device: str = "cpu") -> Method:
    """Return a fresh method by its name, with settings in place of its defaults."""
    check_setting_names(name, settings or {})
    return find_method(name).create(settings, device)


def check_setting_names(name: str, settings: Iterable[str]) -> None:
    """Refuse a setting that a method does not have."""
    known = sorted(find_method(name).setting_names()) if settings else []
    for setting in settings:
        if setting not in known:
            raise InputError(f"{name} has no setting {setting!r}{did_you_mean(setting, known)}")


def settings_of(method: Method) -> dict[str, Any]:
    """Return the settings that a method was made with, as a run keeps them."""
    settings = getattr(method, "settings", None)
    if is_dataclass(settings) and not isinstance(settings, type):
        return asdict(settings)
    if not is_dataclass(method):
        return {}
    return {field.name: getattr(method, field.name) for field in fields(method) if field.init}


def list_methods() -> list[str]:
    """Return the names of all methods, those of other packages included."""
    return [*METHODS, *plugins()]


def find_methods() -> dict[str, MethodEntry]:
    """Return all methods by name; one of another package that cannot be imported is left out with a warning."""
    found = {}
    for name in list_methods():
        try:
            found[name] = find_method(name)
        except InputError as error:
            warn(str(error))
    return found
