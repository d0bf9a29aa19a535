"""What the `tripleshot paper` commands share: where results are, how what is missing is trained."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from tripleshot.cli.compare import LiveReport
from tripleshot.cli.options import use_threads
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.experiments.cells import Plan, run_cell
from tripleshot.experiments.paper.results import (
    STUDIES,
    PaperResults,
    Results,
    collect_results,
    find_results,
    result_folders,
)
from tripleshot.experiments.variants import read_starts
from tripleshot.training.budget import read_budget
from tripleshot.training.runs import CONFIG

OUT_HELP = "The folder to write; runs are kept below it, and what is finished is never trained again."
RESULTS_HELP = "More folders with results, or with runs below them. The folder above OUT is always looked at."


@dataclass(frozen=True)
class Where:
    """Where results are looked for and written."""

    out: Annotated[Path, Parameter(help=OUT_HELP)] = Path("paper")
    results: Annotated[tuple[Path, ...], Parameter(help=RESULTS_HELP, negative=())] = ()

    @property
    def studies(self) -> Path:
        """The folder of RSCL's variants."""
        return self.out / STUDIES

    def folders(self) -> list[Path]:
        """All folders with results, the preferred one first."""
        return result_folders(self.out, self.results)

    def gather(self, data: str, dataset: FewShotDataset) -> PaperResults:
        """Read all results about a dataset."""
        return collect_results(dataset, data, self.out, self.results)


@dataclass(frozen=True)
class Conditions:
    """How what is missing is trained and tested."""

    budget: Annotated[timedelta, Parameter(help="Time for each training: 20m, 1h30m.")] = timedelta(minutes=20)
    seeds: Annotated[PositiveInt, Parameter(help="Trainings of each method, with seeds from 0.")] = 1
    preset: Annotated[str, Parameter(help="Where settings start from: fast, demo, paper, wiki-one.")] = "fast"
    queries: Annotated[
        NonNegativeInt, Parameter(help="Ask so many test queries instead of all, the same of every run.")
    ] = 0
    start_from: Annotated[
        Path | None, Parameter(help="An RSCL run whose pre-training every RSCL run starts from, instead of its own.")
    ] = None
    pretrained: Annotated[
        str | None, Parameter(help='METHOD=EMBEDDING,...; by default what each paper starts from, "" for none.')
    ] = None
    device: Annotated[str, Parameter(help="cpu, cuda, cuda:1, mps, ...")] = "cpu"
    threads: Annotated[PositiveInt | None, Parameter(help="CPU threads.")] = None

    def plan(self, data: str, out: Path, labels: Iterable[str], shots: tuple[int, ...]) -> Plan:
        """Return what to train, with everything checked that can be checked before."""
        starts = read_starts(self.pretrained)
        if self.start_from:
            starts |= read_starts({"rscl": str(self.start_from)})
        use_threads(self.threads)
        budget, methods = read_budget(self.budget), tuple(labels)
        plan = Plan(
            data, out, budget, methods, shots, self.seeds, self.preset, starts, self.queries, device=self.device
        )
        plan.check()
        return plan


@dataclass(frozen=True, eq=False)
class Desk:
    """A dataset, its results, and how more of them are made."""

    data: str
    dataset: FewShotDataset
    where: Where
    conditions: Conditions

    @classmethod
    def open(cls, data: str, where: Where, conditions: Conditions) -> "Desk":
        """Load the dataset."""
        return cls(data, load_dataset(data), where, conditions)

    def gather(self) -> PaperResults:
        """Read all results that there are now."""
        return self.where.gather(self.data, self.dataset)

    def train_methods(self, labels: Iterable[str], shots: tuple[int, ...], takes_finished: bool = False) -> None:
        """Train methods of the main table that have no result anywhere.

        Args:
            labels: which.
            shots: numbers of examples.
            takes_finished: finished cells may have been made under other conditions.
        """
        plan = self.conditions.plan(self.data, self.where.out, labels, shots)
        self._train(plan, self.gather().main, takes_finished)

    def train_variants(self, labels: Iterable[str], shots: tuple[int, ...], takes_finished: bool = False) -> None:
        """Train RSCL and variants of it that have no result below OUT; arguments as for methods."""
        plan = self.conditions.plan(self.data, self.where.studies, labels, shots)
        finished = find_results([self.where.studies], self.dataset.content_hash)
        self._train(plan, finished, takes_finished)

    def _train(self, plan: Plan, found: Results, takes_finished: bool) -> None:
        for cell in plan.cells():
            is_finished = cell.seed in [result["seed"] for result in found.of(cell.label, cell.shots)]
            is_checked = (plan.folder(cell) / CONFIG).exists() and not takes_finished
            if not is_finished or is_checked:
                run_cell(plan, cell, self.dataset, LiveReport())
