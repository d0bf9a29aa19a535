"""From runs to the page: train what a table lacks, find the reports that exist, and put all of them on one page."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.results import RUNS
from tripleshot.experiments.cells import Plan, Reporter, run_cell
from tripleshot.experiments.paper.ablation import ablation_report
from tripleshot.experiments.paper.attention import attention_report, no_attention_report, triple_of
from tripleshot.experiments.paper.cases import cases_report
from tripleshot.experiments.paper.datasets import datasets_report
from tripleshot.experiments.paper.grid_search import NAME as SEARCH
from tripleshot.experiments.paper.grid_search import read_grid, search_report
from tripleshot.experiments.paper.lambda_study import curves_report, lambda_report
from tripleshot.experiments.paper.long_tail import long_tail_report
from tripleshot.experiments.paper.main_table import main_report
from tripleshot.experiments.paper.page import build_page
from tripleshot.experiments.paper.report import Report, find_report, write_report, write_reports
from tripleshot.experiments.paper.results import (
    STUDIES,
    PaperResults,
    Results,
    collect_results,
    find_results,
    result_folders,
)
from tripleshot.files.atomic import write_file
from tripleshot.methods.trainable import WEIGHTS
from tripleshot.training.runs import CONFIG

PAGE = "index.html"


@dataclass(frozen=True, eq=False)
class PaperFolder:
    """Everything that was made for the paper's tables from one dataset.

    Attributes:
        data: the dataset as the user named it.
        dataset: itself.
        out: the folder with the reports; runs of the main table are below `runs`, RSCL's variants below `studies`.
        more: further folders with results; the folder above `out` is always looked at.
    """

    data: str
    dataset: FewShotDataset
    out: Path
    more: tuple[Path, ...] = ()

    def results(self) -> PaperResults:
        """Read all results that there are now."""
        return collect_results(self.dataset, self.data, self.out, self.more)

    def train_methods(self, plan: Plan, reporter: Reporter, accept_finished: bool = False) -> None:
        """Train the methods of a plan that have no result anywhere.

        Args:
            plan: what to train, and how.
            reporter: shows how far it is.
            accept_finished: finished cells may have been made under other conditions.
        """
        self._train(replace(plan, out=self.out), self.results().main, reporter, accept_finished)

    def train_variants(self, plan: Plan, reporter: Reporter, accept_finished: bool = False) -> None:
        """Train RSCL and variants of it that have no result among the studies; arguments as for methods."""
        studies = self.out / STUDIES
        found = find_results([studies], self.dataset.content_hash)
        self._train(replace(plan, out=studies), found, reporter, accept_finished)

    def _train(self, plan: Plan, found: Results, reporter: Reporter, accept_finished: bool) -> None:
        for cell in plan.cells():
            is_finished = cell.seed in [result["seed"] for result in found.of(cell.label, cell.shots)]
            is_checked = (plan.folder(cell) / CONFIG).exists() and not accept_finished
            if not is_finished or is_checked:
                run_cell(plan, cell, self.dataset, reporter)

    def find_run(self) -> Path | None:
        """Return an RSCL run with weights: of the main table, or else of the studies."""
        configs = (
            config
            for folder in (self.out / RUNS, self.out / STUDIES / RUNS)
            for config in sorted(folder.glob(f"rscl-*/{CONFIG}"), reverse=True)
        )
        return next((config.parent for config in configs if (config.parent / WEIGHTS).exists()), None)

    def write_page(self, shots: Sequence[int]) -> list[Report]:
        """Write every report and the page with all of them, from the results that exist; nothing is trained.

        Args:
            shots: numbers of examples of the main table and the ablation; the others take the largest.
        """
        results, most = self.results(), max(shots)
        made = [
            datasets_report(self.dataset),
            main_report(results, shots),
            ablation_report(results, shots),
            lambda_report(results, most),
            curves_report(results, most),
            long_tail_report(results, most),
            cases_report(results, most),
        ]
        for report in made:
            write_report(report, self.out)
        reports = [*made, self._attention_report(), self._search_report()]
        write_reports(reports, self.out)
        found = [*results.main.in_rows(), *results.studies.in_rows()]
        page = build_page(self.dataset, results.data_hash, reports, found, self.out)
        write_file(self.out / PAGE, page.encode())
        return reports

    def _attention_report(self) -> Report:
        """Return the report that was made before, or that of a run; figures that are not in the folder are missing."""
        run = None if (self.out / "attention.json").exists() else self.find_run()
        if run is not None:
            report = attention_report(self.dataset, run, triple_of(self.dataset))
            write_report(report, self.out)
            return report
        without = no_attention_report(self._command("attention", "--run", "RUN"))
        kept = find_report(without.name, result_folders(self.out, self.more))
        if kept is None:
            return without
        drawn = tuple(picture for picture in kept.pictures if (self.out / f"{picture.stem}.png").exists())
        return replace(kept, pictures=drawn, missing=() if drawn else without.missing)

    def _search_report(self) -> Report:
        """Return the search as it was written last."""
        kept = find_report(SEARCH, result_folders(self.out, self.more))
        return kept or search_report([], read_grid(()), self._command(SEARCH))

    def _command(self, name: str, *more: str) -> str:
        words: Iterable[str] = ("tripleshot", "paper", name, self.data, "--out", str(self.out), *more)
        return shlex.join(words)
