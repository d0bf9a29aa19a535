"""A fair comparison: every method on the same machine with the same time to train, chosen on dev, asked all of test.

A cell is one method, one number of examples and one seed. It is a folder with a run and, once it is finished, the
result; a comparison that was interrupted goes on where it was.
"""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from safetensors import safe_open

from tripleshot.checkpoints import WEIGHTS
from tripleshot.dataset import FewShotDataset
from tripleshot.dataset_files import content_hash
from tripleshot.errors import InputError
from tripleshot.evaluation import evaluate
from tripleshot.method import Method, settings_of
from tripleshot.methods import METHODS, find_method
from tripleshot.methods.fitting import time_limit
from tripleshot.results import Setting, command, commit, describe, write_json
from tripleshot.run_log import describe_training
from tripleshot.storage import CONFIG, RunConfig, load_config, require_same_data, save_config, save_vocabulary
from tripleshot.training import Observer, StoppedError

RESULT = "result.json"
RUNS = "runs"


@dataclass(frozen=True)
class Cell:
    """One training and its test."""

    method: str
    shots: int
    seed: int

    def __str__(self) -> str:
        return f"{self.method}-{self.shots}-shot-seed-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """What is compared, and under which conditions.

    Attributes:
        data: the dataset as the user named it.
        out: the folder to write.
        budget: seconds that each training is given, validations included.
        methods: names in the table of methods.
        shots: numbers of examples.
        num_seeds: trainings of each method; one that does not learn needs only one.
        preset: where settings start from.
        pretrained: method to the embedding method whose vectors it starts from, beside what presets ask for.
        device: where to compute.
    """

    data: str
    out: Path
    budget: float
    methods: tuple[str, ...] = tuple(METHODS)
    shots: tuple[int, ...] = (1, 5)
    num_seeds: int = 1
    preset: str = "fast"
    pretrained: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"

    def cells(self) -> list[Cell]:
        """Return all trainings and tests, in the order of their tables."""
        return [
            Cell(method, shots, seed)
            for shots in self.shots
            for method in self.methods
            for seed in range(self.num_seeds if find_method(method).learns else 1)
        ]

    def folder(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        return self.out / RUNS / str(cell)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of a method that learns; `pretrained` still names an embedding method, if any."""
        preset = find_method(cell.method).preset(self.preset)
        given = {"pretrained": self.pretrained[cell.method]} if cell.method in self.pretrained else {}
        if given and not hasattr(preset, "pretrained"):
            raise InputError(f"{cell.method} does not start from the vectors of another method")
        return asdict(replace(preset, seed=cell.seed, **given))


class Reporter(Protocol):
    """Shows how far a cell is."""

    def training(self, cell: Cell) -> AbstractContextManager[Observer | None]:
        """Give someone who watches a training."""
        ...

    def testing(self, cell: Cell) -> AbstractContextManager[Callable[[int, int], None] | None]:
        """Give a function that takes the number of queries done and their total."""
        ...


def run_cell(plan: Plan, cell: Cell, dataset: FewShotDataset, reporter: Reporter) -> dict[str, Any]:
    """Train and test one cell, or what is left of it, and return its result as `results.describe` lays it out.

    Its `training` says beside the learning curve what was spent of the budget, how many weights there are, and what it
    took to train the vectors that the method starts from, which is not counted.
    """
    folder = plan.folder(cell)
    if (folder / RESULT).exists():
        _require_same(plan, cell, dataset)
        return _read(folder / RESULT)
    if find_method(cell.method).learns:
        method, setting = _train(plan, cell, dataset, reporter)
    else:
        method, setting = _fit(plan, cell, dataset)
    with reporter.testing(cell) as progress:
        document = describe(evaluate(method, dataset, cell.shots, progress=progress), dataset, setting)
    write_json(document, folder / RESULT)
    return document


def _fit(plan: Plan, cell: Cell, dataset: FewShotDataset) -> tuple[Method, Setting]:
    method = find_method(cell.method).make()
    method.fit(dataset, cell.shots)
    settings = settings_of(method)
    _describe(plan, cell, dataset, settings)
    return method, Setting(cell.method, cell.shots, "test", config=settings)


def _train(plan: Plan, cell: Cell, dataset: FewShotDataset, reporter: Reporter) -> tuple[Method, Setting]:
    folder, settings = plan.folder(cell), plan.settings(cell)
    source = settings.get("pretrained") or None
    vectors: dict[str, Any] = {}
    if source in METHODS:
        first = replace(cell, method=source)
        trained = run_cell(plan, first, dataset, reporter)["training"]
        vectors = {"pretrained": {"method": source, "spent": trained["spent"], "seconds": trained["seconds"]}}
        settings["pretrained"] = str(plan.folder(first).resolve())
    is_begun = (folder / CONFIG).exists()
    if is_begun:
        _require_same(plan, cell, dataset)
    else:
        _describe(plan, cell, dataset, settings)
        save_vocabulary(dataset.graph, folder)
    method = find_method(cell.method).make_with(settings, plan.device)
    try:
        with reporter.training(cell) as observer, time_limit(plan.budget):
            method.fit(dataset, cell.shots, folder, is_begun, observer)
    except StoppedError:
        raise StoppedError(f"stopped in {cell}; the same command goes on from there") from None
    config = load_config(folder)
    training = {
        "command": config.command,
        "commit": config.commit,
        "budget": plan.budget,
        "parameters": count_weights(folder),
        **vectors,
        **describe_training(folder),
    }
    return method, Setting(cell.method, cell.shots, "test", seed=cell.seed, config=settings, training=training)


def count_weights(folder: Path) -> int:
    """Return how many numbers a run has learned."""
    with safe_open(folder / WEIGHTS, framework="np") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def _describe(plan: Plan, cell: Cell, dataset: FewShotDataset, settings: dict[str, Any]) -> None:
    config = RunConfig(
        cell.method,
        settings,
        cell.shots,
        plan.data,
        dataset.name,
        content_hash(dataset),
        command(),
        commit(),
        plan.budget if find_method(cell.method).learns else 0.0,
    )
    save_config(config, plan.folder(cell))


def _require_same(plan: Plan, cell: Cell, dataset: FewShotDataset) -> None:
    """Refuse to put results side by side that were made under other conditions."""
    folder = plan.folder(cell)
    found = load_config(folder)
    require_same_data(found, dataset)
    if not find_method(cell.method).learns:
        return
    if found.budget != plan.budget:
        raise InputError(f"{folder}: was given {found.budget:g} s, not {plan.budget:g} s; choose another folder")
    expected = json.loads(json.dumps(plan.settings(cell)))
    for name, value in expected.items():
        if name != "pretrained" and found.settings.get(name) != value:
            was = found.settings.get(name)
            raise InputError(f"{folder}: was trained with {name} {was!r}, not {value!r}; choose another folder")
    if bool(found.settings.get("pretrained")) != bool(expected.get("pretrained")):
        raise InputError(f"{folder}: started from other vectors; choose another folder")


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable result: {error}") from None
