"""The one table of names: everything that can score."""

from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, nearest
from tripleshot.methods.protocol import LearningMethod, Method
from tripleshot.training.runs import RunConfig, load_config, require_known_names, require_same_data


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

    def make(self) -> Method:
        """Return the method with its default settings, not yet fitted."""
        return self._class()()

    def make_with(self, settings: dict[str, Any], device: str = "cpu") -> LearningMethod:
        """Return a method that learns, with these settings."""
        return self._class().with_settings(settings, device)

    def restore(self, config: RunConfig, folder: Path, dataset: FewShotDataset, device: str = "cpu") -> Method:
        """Return the method of a run, ready to score on a dataset: with its weights, or fitted if it does not learn."""
        if not self.learns:
            method = self._class()(**config.settings)
            method.fit(dataset, config.shots)
            return method
        known = {field.name for field in fields(self.settings)}
        if unknown := ", ".join(sorted(config.settings.keys() - known)):
            raise InputError(
                f"{folder}: was trained by another version, with settings that are not known here: {unknown}"
            )
        learned = self.make_with(config.settings, device)
        learned.restore(dataset, folder)
        return learned

    @property
    def settings(self) -> type:
        """The class of the settings of a method that learns."""
        return self._class().Settings

    def preset(self, name: str) -> Any:  # noqa: ANN401 (each method has settings of its own)
        """Return settings to start from."""
        presets = self._class().presets
        if name not in presets:
            raise InputError(f"there is no preset {name!r}, there are {', '.join(presets)}{nearest(name, [*presets])}")
        return presets[name]()

    def _class(self) -> Any:  # noqa: ANN401 (the classes share a protocol, not a base)
        module, _, name = self.place.partition(":")
        found = getattr(import_module(f"tripleshot.methods.{module}"), name)
        return found(self.variant) if self.variant else found


def _embedding(variant: str, summary: str) -> MethodEntry:
    return MethodEntry("embedding", summary, "embedding.method:EmbeddingFamily", learns=True, variant=variant)


METHODS: dict[str, MethodEntry] = {
    "degree": MethodEntry("evidence", "entities with more edges first, whatever is asked", "evidence.baselines:Degree"),
    "support-frequency": MethodEntry(
        "evidence", "tails of the examples first, then by degree", "evidence.baselines:SupportFrequency"
    ),
    "linked": MethodEntry(
        "evidence", "linked to the head, then tails of the examples, then by degree", "evidence.baselines:Linked"
    ),
    "evidence": MethodEntry(
        "evidence", "links, paths that the examples share and support frequency, added", "evidence.baselines:Evidence"
    ),
    "rscl": MethodEntry(
        "neural", "relation-specific context learning, the paper's model", "rscl.method:RSCLMethod", learns=True
    ),
    "evidence-net": MethodEntry(
        "neural",
        "a network that weighs links, paths, examples and likeness",
        "evidence.evidence_net:RSCLPlusMethod",
        learns=True,
    ),
    "metar": MethodEntry(
        "few-shot",
        "a relation's vector from its examples, moved by their gradient",
        "fewshot.metar:MetaRMethod",
        learns=True,
    ),
    "gana": MethodEntry(
        "few-shot",
        "MetaR with gated neighbors, an LSTM over examples, hyperplanes",
        "fewshot.gana:GANAMethod",
        learns=True,
    ),
    "gmatching": MethodEntry(
        "few-shot", "mean of the neighbors, pairs matched by an LSTM", "fewshot.gmatching:GMatchingMethod", learns=True
    ),
    "fsrl": MethodEntry(
        "few-shot", "GMatching with attention to neighbors and to examples", "fewshot.fsrl:FSRLMethod", learns=True
    ),
    "faan": MethodEntry(
        "few-shot", "neighbors and examples that fit the pair, a transformer", "fewshot.faan:FAANMethod", learns=True
    ),
    "transe": _embedding("transe", "a relation is a translation: h + r near t"),
    "transh": _embedding("transh", "TransE on a hyperplane of each relation"),
    "transr": _embedding("transr", "TransE in a space of each relation"),
    "rescal": _embedding("rescal", "a relation is a matrix: h M t"),
    "distmult": _embedding("distmult", "a relation weighs each dimension: the sum of h r t"),
    "complex": _embedding("complex", "DistMult with complex numbers, which tell heads from tails"),
}


PYKEEN = "pykeen:"


def find_method(name: str) -> MethodEntry:
    """Return the table's entry for a name; `pykeen:` and the name of one of its models is a method, too."""
    if name.startswith(PYKEEN) and name != PYKEEN:
        model = name.removeprefix(PYKEEN)
        return MethodEntry("pykeen", f"{model} as PyKEEN has it", "embedding.pykeen:PyKEENFamily", True, model)
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}, there are {', '.join(METHODS)}{nearest(name, list(METHODS))}")
    return METHODS[name]


def make_method(name: str) -> Method:
    """Return a fresh method by its name."""
    return find_method(name).make()


def load_run(
    folder: Path, dataset: FewShotDataset, device: str = "cpu", same_data: bool = True
) -> tuple[Method, RunConfig]:
    """Return the method of a run, ready to score, and what the run is.

    Args:
        folder: that `tripleshot train` has written.
        dataset: to score on.
        device: where to compute.
        same_data: refuse any data but those of the training, as an honest evaluation must. Otherwise entities and
            relations are matched by name, and those that are new to the run are counted in an `InputWarning`.
    """
    config = load_config(folder)
    entry = find_method(config.method)
    if same_data:
        require_same_data(config, dataset)
    elif entry.learns:
        require_known_names(config, dataset, folder)
    return entry.restore(config, folder, dataset, device), config
