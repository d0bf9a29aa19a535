"""The cells of a comparison: one method, or a variant of one, with one number of examples and one seed.

A cell is a folder with a run and, once it is finished, its result. Every cell of a plan is given the same time to
train, on the same machine. A comparison that was interrupted goes on where it was.
"""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Split
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.ranking_work import ranking_processes
from tripleshot.evaluation.results import RESULT, RUNS, EvaluationSpec, describe, write_json
from tripleshot.experiments.variants import MARK, Variant, paper_starts, preset_of
from tripleshot.files.checksums import read_document, seal_document
from tripleshot.methods import METHODS, find_method, settings_of
from tripleshot.methods.protocol import Method
from tripleshot.training.budget import write_budget
from tripleshot.training.checkpoints import count_weights
from tripleshot.training.fit import train_run
from tripleshot.training.log import LOG, describe_training, read_log
from tripleshot.training.runs import CONFIG, load_config, load_run, require_same_data
from tripleshot.training.trainer import StoppedError
from tripleshot.training.updates import TrainingCallback

logger = logging.getLogger(__name__)

QUERY_SEED = 0  # a sample of the queries is the same for every cell, so that figures can be compared


@dataclass(frozen=True)
class Cell:
    """One training and its test.

    Attributes:
        method: its name in the table of methods.
        shots: K.
        seed: of the training.
        variant: what is changed in the method, as `variants` reads it.
    """

    method: str
    shots: int
    seed: int
    variant: str = ""

    @property
    def label(self) -> str:
        """The method with its variant, as the user writes it."""
        return str(Variant(self.method, self.variant))

    def __str__(self) -> str:
        return f"{self.label}-{self.shots}-shot-seed-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """What is compared, and under which conditions.

    Attributes:
        data: the dataset as the user named it.
        out: the folder to write.
        budget: seconds that each training is given, preparing and validations included.
        methods: names in the table of methods, some perhaps with a variant.
        shots: numbers of examples.
        num_seeds: trainings of each method; one that does not learn needs only one.
        preset: where settings start from.
        pretrained: method to the embedding method whose vectors it starts from, or RSCL to a run whose pre-training it
            starts from; a variant starts as its method does unless it is named itself.
        queries: of a cell, about so many and the same ones for each; 0 asks them all.
        split: the tasks that are asked about: test to report, valid to choose between variants.
        device: where to compute.
        num_workers: processes that rank the queries at the same time; None ranks in this one. Trainings stay one after
            the other: each has the machine for itself.
    """

    data: str
    out: Path
    budget: float
    methods: tuple[str, ...]
    shots: tuple[int, ...]
    num_seeds: int = 1
    preset: str = "fast"
    pretrained: Mapping[str, str] = field(default_factory=paper_starts)
    queries: int = 0
    split: Split = "test"
    device: str = "cpu"
    num_workers: int | None = None

    def cells(self) -> list[Cell]:
        """Return all trainings and tests, in the order of their tables."""
        return [
            Cell(method, shots, seed, variant)
            for shots in self.shots
            for method, _, variant in (name.partition(MARK) for name in self.methods)
            for seed in range(self.num_seeds if find_method(method).learns else 1)
        ]

    def folder(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        return self.out / RUNS / str(cell)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of a method that learns; `pretrained` still names an embedding method, if any."""
        preset = preset_of(cell.method, self.preset)
        changes = Variant(cell.method, cell.variant).changes()
        start = self.pretrained.get(cell.label, self.pretrained.get(cell.method, ""))
        if start and not hasattr(preset, "pretrained"):
            raise InputError(f"{cell.method} does not start from the vectors of another method")
        given = {"pretrained": start} if start else {}
        return asdict(replace(preset, **{**given, **changes, "seed": cell.seed}))

    def check(self) -> None:
        """Find a wrong preset, variant or start now, not after hours."""
        if self.num_workers and (not self.data or self.device != "cpu"):
            raise InputError("workers: they read the dataset from a folder or a file, and rank on the CPU")
        for cell in self.cells():
            if find_method(cell.method).learns:
                self.settings(cell)


class Reporter(Protocol):
    """Shows how far a cell is."""

    def training(self, cell: Cell) -> AbstractContextManager[TrainingCallback | None]:
        """Give what is told about every step."""
        ...

    def testing(self, cell: Cell) -> AbstractContextManager[Callable[[int, int], None] | None]:
        """Give a function that takes the number of queries done and their total."""
        ...


class SilentReporter:
    """Shows nothing."""

    def training(self, cell: Cell) -> AbstractContextManager[None]:
        """Train in silence."""
        return nullcontext()

    def testing(self, cell: Cell) -> AbstractContextManager[None]:
        """Test in silence."""
        return nullcontext()


def run_cell(plan: Plan, cell: Cell, dataset: FewShotDataset, reporter: Reporter) -> dict[str, Any]:
    """Train and test one cell, or what is left of it, and return its result as `results.describe` lays it out.

    Its `training` says beside the learning curve what was spent of the budget, how many weights there are, and what it
    took to train the vectors that the method starts from, which is not counted.
    """
    folder = plan.folder(cell)
    if (folder / RESULT).exists():
        _require_same(plan, cell, dataset)
        logger.info("%s is finished already", cell)
        return _read_result(plan, folder)
    if find_method(cell.method).learns:
        method, training = train_cell(plan, cell, dataset, reporter)
        config = load_config(folder).settings
        spec = EvaluationSpec(cell.method, cell.shots, plan.split, seed=cell.seed, config=config, training=training)
    else:
        method, spec = _prepare(plan, cell, dataset)
    asked = sample_queries(dataset, cell.shots, plan.queries, QUERY_SEED, plan.split)
    about, crew = (asked, cell.shots, plan.split), None
    if plan.num_workers:
        crew = ranking_processes(CellSource(plan, cell), *about, num_workers=plan.num_workers)
    with reporter.testing(cell) as progress:
        evaluation = evaluate(method, *about, progress=progress, crew=crew)
    document = {
        **describe(evaluation, dataset, spec),
        "variant": cell.variant,
        **({"sample": plan.queries} if plan.queries else {}),
    }
    write_json(seal_document(document), folder / RESULT)
    logger.info("%s: %s MRR %.4f", cell, plan.split, evaluation.mrr)
    return document


@dataclass(frozen=True)
class CellSource:
    """A cell that is trained: worker processes open it to rank its queries."""

    plan: Plan
    cell: Cell

    def open(self) -> tuple[Method, FewShotDataset]:
        """Return the method of the cell's run, and the tasks with the queries that are asked."""
        plan, shots = self.plan, self.cell.shots
        dataset = load_dataset(plan.data)
        method, _ = load_run(plan.folder(self.cell), dataset)
        return method, sample_queries(dataset, shots, plan.queries, QUERY_SEED, plan.split)


def _prepare(plan: Plan, cell: Cell, dataset: FewShotDataset) -> tuple[Method, EvaluationSpec]:
    is_begun = (plan.folder(cell) / CONFIG).exists()
    method = train_run(cell.method, dataset, cell.shots, plan.folder(cell), data=plan.data, resume=is_begun)
    return method, EvaluationSpec(cell.method, cell.shots, plan.split, config=settings_of(method))


def train_cell(plan: Plan, cell: Cell, dataset: FewShotDataset, reporter: Reporter) -> tuple[Method, dict[str, Any]]:
    """Train one cell, or what is left of it, and return the method with all that is to be said of its training."""
    folder, settings = plan.folder(cell), plan.settings(cell)
    source = settings.get("pretrained") or None
    vectors: dict[str, Any] = {}
    if source and find_method(cell.method).method_class().starts_from == "network":
        vectors = {
            "pretrained": {"method": source, "spent": 0.0, "seconds": 0.0}
        }  # weights that are there cost nothing
    elif source in METHODS:
        first = replace(cell, method=source, variant=variant_of_width(source, settings["width"], plan.preset))
        trained = run_cell(plan, first, dataset, reporter)["training"]
        vectors = {"pretrained": {"method": first.label, "spent": trained["spent"], "seconds": trained["seconds"]}}
        settings["pretrained"] = str(plan.folder(first).resolve())
    elif source:
        vectors = {"pretrained": {"method": cell.method, **describe_pretraining(Path(source))}}
    is_begun = (folder / CONFIG).exists()
    if is_begun:
        _require_same(plan, cell, dataset)
    try:
        with reporter.training(cell) as callback:
            method = train_run(
                cell.method,
                dataset,
                cell.shots,
                folder,
                data=plan.data,
                settings=settings,
                device=plan.device,
                resume=is_begun,
                budget=plan.budget,
                callback=callback,
            )
    except StoppedError:
        raise StoppedError(f"stopped in {cell}; the same command goes on from there") from None
    config = load_config(folder)
    return method, {
        "command": config.command,
        "commit": config.commit,
        "budget": plan.budget,
        "parameters": count_weights(folder),
        **vectors,
        **describe_training(folder),
    }


def variant_of_width(source: str, size: int, preset: str) -> str:
    """Return which variant of an embedding method has vectors of a size."""
    own = find_method(source).method_class().width_for(size)
    return "" if preset_of(source, preset).width == own else f"width={own}"


def describe_pretraining(run: Path) -> dict[str, float]:
    """Return how long the pre-training of a run took, by its log: steps alone, and all that was spent."""
    ends = [row for row in read_log(run / LOG) if row.get("finished") == "pre-training"]
    if not ends:
        raise InputError(f"{run}: its pre-training is not over, or it has none")
    return {"spent": ends[0].get("spent", ends[0]["seconds"]), "seconds": ends[0]["seconds"]}


def _require_same(plan: Plan, cell: Cell, dataset: FewShotDataset) -> None:
    """Refuse to put results side by side that were made under other conditions."""
    folder = plan.folder(cell)
    found = load_config(folder)
    require_same_data(found, dataset)
    if not find_method(cell.method).learns:
        return
    if found.budget != plan.budget:
        was, wanted = write_budget(found.budget), write_budget(plan.budget)
        raise InputError(f"{folder}: was given {was}, not {wanted}; go on with a budget of {was}, or in another folder")
    expected = json.loads(json.dumps(plan.settings(cell)))
    defaults = {field.name: field.default for field in fields(find_method(cell.method).settings)}
    for name, value in expected.items():
        was = found.settings.get(name, defaults.get(name))  # a setting that is newer than the run is off by default
        if name != "pretrained" and was != value:
            raise InputError(f"{folder}: was trained with {name} {was!r}, not {value!r}; choose another folder")
    if bool(found.settings.get("pretrained")) != bool(expected.get("pretrained")):
        raise InputError(f"{folder}: started from other vectors; choose another folder")


def _read_result(plan: Plan, folder: Path) -> dict[str, Any]:
    """Return the result of a finished cell; one that was asked other queries is refused."""
    path = folder / RESULT
    try:
        result = read_document(path)
        conditions = ((result.get("sample", 0), result["split"]), (plan.queries, plan.split))
    except (OSError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a readable result: {error}") from None
    asked, wanted = (f"{count or 'all'} {split} queries" for count, split in conditions)
    if asked != wanted:
        raise InputError(f"{folder}: was asked {asked}, not {wanted}; choose another folder")
    return result
