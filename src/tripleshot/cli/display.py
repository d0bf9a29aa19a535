"""What the terminal shows: tables, hints and progress, the same everywhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from tripleshot.cli.live_plot import LivePlot, has_room
from tripleshot.cli.messages import is_quiet
from tripleshot.cli.terminal import open_console
from tripleshot.datasets.dataset import SPLITS, FewShotDataset
from tripleshot.datasets.statistics import Statistics
from tripleshot.evaluation.ranks import Summary

if TYPE_CHECKING:  # nobody waits for torch who trains nothing
    from tripleshot.experiments.paper.report import Report
    from tripleshot.experiments.paper.report import Table as ReportTable
    from tripleshot.training.updates import TrainingUpdate

console = open_console()

BAR = 10  # letters
NO_LIMIT = 10_000  # letters: wider than any table
METRIC_NAMES = {"mrr": "MRR", "hits@10": "Hits@10", "hits@5": "Hits@5", "hits@1": "Hits@1"}


def hint(text: str) -> None:
    """Print what is no result: what happens, where something was written, what to try next."""
    if not is_quiet():
        console.print(text, style="dim", markup=False, soft_wrap=True)


def percent(share: float) -> str:
    """Write a share as a percentage with one decimal."""
    return f"{share:.1%}"


def confidence_bar(share: float) -> str:
    """Draw a share between 0 and 1 as a bar with its percentage, in rich's markup."""
    filled = round(share * BAR)
    return f"[cyan]{'█' * filled}[/cyan][dim]{'░' * (BAR - filled)}[/dim] {share:4.0%}"


def statistics_table(dataset: FewShotDataset, statistics: Statistics) -> Table:
    """Lay out the paper's dataset table, and the same for triples, one dataset."""
    table = Table(title=f"{dataset.name}: dataset", title_justify="left")
    table.add_column("")
    for name in ("entities", "in all", "background", *SPLITS):
        table.add_column(name, justify="right")
    rows = {
        "relations": (statistics.background_relations, statistics.tasks),
        "triples": (statistics.triples, statistics.task_triples),
    }
    for name, (background, tasks) in rows.items():
        entities = f"{statistics.entities:,}" if name == "relations" else ""
        counts = (background + sum(tasks.values()), background, *(tasks[split] for split in SPLITS))
        table.add_row(name, entities, *(f"{count:,}" for count in counts))
    return table


def degree_table(dataset: FewShotDataset, statistics: Statistics) -> Table:
    """Lay out how edges are spread over entities."""
    table = Table(title=f"{dataset.name}: edges per entity, both directions", title_justify="left")
    for name in statistics.degree:
        table.add_column(name, justify="right")
    table.add_row(*(f"{value:,.1f}".removesuffix(".0") for value in statistics.degree.values()))
    return table


def long_tail_lines(statistics: Statistics, shots: int) -> Iterable[str]:
    """Say how long the tail is."""
    yield (
        f"{percent(statistics.one_neighbor)} of entities have one distinct neighbor, "
        f"{percent(statistics.few_neighbors)} fewer than ten (long-tailed), {percent(statistics.no_neighbor)} none."
    )
    for split in ("valid", "test"):
        subset = statistics.long_tail[split]
        if subset.of:
            yield (
                f"{subset.queries:,} of {subset.of:,} {shots}-shot {split} queries are in the long-tail subset "
                f"({percent(subset.queries / subset.of)})."
            )


def metrics_table(title: str, rows: Mapping[str, Mapping[str, float | int]], first: str) -> Table:
    """Lay out metrics, one row each."""
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    has_counts = any("queries" in row for row in rows.values())
    if has_counts:
        table.add_column("queries", justify="right")
    for name in METRIC_NAMES.values():
        table.add_column(name, justify="right")
    for name, row in rows.items():
        counts = [f"{row['queries']:,}" if "queries" in row else ""] if has_counts else []
        table.add_row(name, *counts, *(f"{row[key]:.3f}" for key in METRIC_NAMES))
    return table


def summary_table(title: str, summary: Summary, dataset: FewShotDataset) -> Table:
    """Lay out metrics per relation, with its label where it has one, then macro and micro."""
    labels = {task.name: task.label for _, task in dataset.all_tasks() if task.label}
    named = {f"{name}: {labels[name]}" if name in labels else name: row for name, row in summary.relations.items()}
    rows = {**named, "macro (mean of relations)": summary.macro, "micro (as published)": summary.micro}
    return metrics_table(title, rows, "relation")


def show_report(report: "Report", out: Path) -> None:
    """Print the tables of a report of the paper, and what holds and is missing."""
    for table in report.tables:
        _show_report_table(table, out / f"{report.name}.md")
    show_verdicts(report)


def _show_report_table(table: "ReportTable", path: Path) -> None:
    """Print a table, or say where it is if the terminal is too narrow for it."""
    shown = Table(title=table.title, title_justify="left")
    for place, heading in enumerate(table.headings):
        shown.add_column(heading, justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    unbroken = console.measure(shown, options=console.options.update(width=NO_LIMIT)).minimum
    if unbroken > console.width:
        console.print(Text(f"{table.title}: too wide for this terminal, see {path}"))
    else:
        console.print(shown)
    for note in table.notes:
        console.print(Text(note, "dim"))


def show_verdicts(report: "Report") -> None:
    """Print what holds and what is missing."""
    for claim in report.claims:
        console.print(Text(f"{claim.verdict}: {claim.text} {claim.detail}"))
    for one in report.missing:
        console.print(Text(f"missing: {one.listed()}", "dim"))
        console.print(Text(f"  {one.command}", "dim"), soft_wrap=True)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar that is gone when the work is done; give a function that takes how much is done, and of how much."""
    with _live(MofNCompleteColumn(), TimeElapsedColumn(), transient=True) as progress:
        task = progress.add_task(text, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def download_progress() -> Progress:
    """Return a display of downloads on the terminal."""
    return _live(DownloadColumn(), TransferSpeedColumn(), transient=True)


class TrainingDisplay:
    """Live progress of a training: stage, steps or time, loss, best valid MRR, speed and time left."""

    def __init__(self, progress: Progress, plot: LivePlot | None = None) -> None:
        self.progress, self.plot = progress, plot
        self.task = progress.add_task("", total=None, note="", done="")
        self.stage = ""

    def __call__(self, update: "TrainingUpdate") -> None:
        """Show a step."""
        if self.plot is not None:
            self.plot.add(update.points)
        if update.stage != self.stage:
            self.stage = update.stage
            self.progress.reset(self.task, total=update.steps, completed=update.step, description=update.stage)
        best = f"  best valid MRR {update.best_mrr:.3f}" if update.best_mrr >= 0 else ""
        note = "  ".join(f"{name} {value:.3f}" for name, value in update.losses.items()) + best
        if update.budget:
            times = (timedelta(seconds=int(seconds)) for seconds in (update.spent, update.budget))
            done, note = " of ".join(map(str, times)), f"{note}  step {update.step:,}"
            self.progress.update(self.task, completed=update.spent, total=update.budget, done=done, note=note)
        else:
            speed = self.progress.tasks[0].speed or 0.0
            done, note = f"{update.step}/{update.steps}", f"{note}  {speed:.1f} steps/s"
            self.progress.update(self.task, completed=update.step, done=done, note=note)


class PlottedProgress(Progress):
    """A live line below the plots of a training."""

    plot: LivePlot | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Give the plots, then the line."""
        if self.plot is not None:
            yield self.plot
        yield from super().get_renderables()


@contextmanager
def training_display(plots: bool | None = None) -> Iterator[TrainingDisplay]:
    """Show a live line about a training and, above it, its curves.

    Args:
        plots: whether to draw the curves; None draws them where a terminal has room.
    """
    columns = (TextColumn(f"{{task.fields[{name}]}}") for name in ("done", "note"))
    with _live(*columns, kind=PlottedProgress) as progress:
        if plots if plots is not None else has_room(progress.console):
            progress.plot = LivePlot()
        yield TrainingDisplay(progress, progress.plot)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say what the program does while nothing else can be shown, on a terminal whose user wants to know."""
    terminal = open_console(stderr=True)
    if is_quiet() or not terminal.is_terminal:
        yield
        return
    with terminal.status(what):
        yield


Live = TypeVar("Live", bound=Progress)


def _live(*columns: ProgressColumn, transient: bool = False, kind: type[Live] = Progress) -> Live:
    """Return a live line on the terminal; where there is none, or when only results are wanted, it shows nothing."""
    terminal = open_console(stderr=True)
    shown = (TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn())
    is_hidden = is_quiet() or not terminal.is_terminal
    return kind(*shown, console=terminal, transient=transient, disable=is_hidden)
