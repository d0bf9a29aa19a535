"""`tripleshot compare`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt
from rich.box import SIMPLE_HEAD
from rich.table import Table

from tripleshot.cli.display import console, hint, progress_bar, training_display
from tripleshot.cli.options import use_threads
from tripleshot.datasets.catalog import load_dataset
from tripleshot.errors import InputError
from tripleshot.experiments.cells import Cell, Plan
from tripleshot.experiments.comparison import run_budgets, run_plan, write_comparison, write_over_time
from tripleshot.experiments.comparison_table import HEADINGS, SPREAD, Comparison, lay_out
from tripleshot.experiments.over_time import over_time_table
from tripleshot.experiments.variants import read_methods, read_starts
from tripleshot.training.budget import read_budget
from tripleshot.training.updates import TrainingCallback

NUMERIC = range(1, len(HEADINGS) - 1)
ROOMY = 110  # columns of a terminal that has room for everything


class LiveReport:
    """Shows each cell while it runs."""

    def training(self, cell: Cell) -> AbstractContextManager[TrainingCallback]:
        """Say what is trained, with live progress."""
        hint(f"training {cell}")
        return training_display()

    def testing(self, cell: Cell) -> AbstractContextManager[Callable[[int, int], None]]:
        """Show how many queries are ranked."""
        return progress_bar(f"testing {cell}")


def compare_command(
    data: str,
    *,
    out: Path,
    budget: Annotated[tuple[timedelta, ...], Parameter(consume_multiple=True, negative=())] = (timedelta(minutes=20),),
    shots: str = "1,5",
    seeds: PositiveInt = 1,
    methods: str | None = None,
    preset: str = "fast",
    pretrained: str | None = None,
    queries: NonNegativeInt = 0,
    split: Literal["test", "valid"] = "test",
    device: str = "cpu",
    threads: PositiveInt | None = None,
    workers: PositiveInt | None = None,
) -> None:
    """Compare every method on DATA: the same machine and training time for each, chosen on valid, ranked on test.

    What is finished is kept and never done again: the same command goes on after an interruption, and adds what is new
    in it. Prints a table beside what is published about DATA, and writes it with a figure into the folder OUT.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    out
        The folder to write: compare-K-shot.json, .md and .png for each K (compare-valid-K-shot for valid tasks), and
        below runs/ every run with its result.
    budget
        Time that each training is given, such as 20m or 1h30m: preparing, steps, validations and checkpoints count;
        reading the data and the test do not. Several times, such as 1m 5m 30m, train each method for each of them and
        show what more time brings: over-time-K-shot.json, .md and .png. The longest is kept in OUT, the others in
        OUT/after-1m and so on.
    shots
        K, the number of examples per relation, or several with commas between.
    seeds
        How many trainings of each method, with seeds from 0.
    methods
        Which, with commas between, also variants: metar@pre-train, rscl@without-local, rscl@dropout=0.3. By default all
        of them, and MetaR in both of its regimes.
    preset
        Where settings start from; one that a method does not have means `fast` to it.
    pretrained
        Which methods start from the vectors of which embedding method, such as gmatching=complex,faan=transe; by
        default what their papers start from, with "" none. It is trained first, with a budget of its own, unless it is
        there already. rscl=RUN starts from the pre-training of an RSCL run.
    queries
        Ask about so many queries instead of all, the same ones of every method, with all their candidates.
    split
        Tasks to ask about: test to report, valid to choose between variants, in a folder of its own.
    device
        cpu, cuda, cuda:1, mps, ...
    threads
        CPU threads.
    workers
        Rank the queries with so many processes at the same time; the results are the same. Trainings stay one after the
        other, so that each has the machine for itself.
    """  # noqa: D405, D411, D416
    use_threads(threads)
    budgets = sorted({read_budget(time) for time in budget})
    chosen, starts, counts = read_methods(methods), read_starts(pretrained), read_shots(shots)
    where = (split, device, workers)
    plan = Plan(data, out, budgets[-1], chosen, counts, seeds, preset, starts, queries, *where)
    plan.check()
    dataset = load_dataset(data)
    if len(budgets) == 1:
        for comparison in run_plan(plan, dataset, LiveReport()):
            show(comparison)
            write_comparison(comparison, dataset, out)
    else:
        for comparisons in run_budgets(plan, budgets, dataset, LiveReport()):
            show_over_time(comparisons)
            write_over_time(comparisons, dataset, out)
    hint(f"written to {out}")


def show(comparison: Comparison) -> None:
    """Print the table; in a narrow terminal weights and spreads are left out and remarks stand below it."""
    is_roomy = console.width >= ROOMY
    shown = len(HEADINGS) if is_roomy else NUMERIC.stop - 1
    table = Table(title=comparison.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(HEADINGS[:shown]):
        is_number = place in NUMERIC
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    layout = lay_out(comparison)
    for line in layout.lines:
        name = f"  {line.cells[0]}" if line.is_published else line.cells[0]
        cells = [cell if is_roomy else cell.partition(SPREAD)[0] for cell in line.cells[1:shown]]
        table.add_row(name, *cells, style="dim" if line.is_published else None)
    console.print(table, markup=False)
    for line in layout.lines:
        if not is_roomy and line.cells[-1]:
            _, has_spread, spread = line.cells[1].partition(SPREAD)
            console.print(f"{line.cells[0]}: {line.cells[-1]}{f', MRR ±{spread}' * bool(has_spread)}", markup=False)
    for number, note in enumerate(layout.notes, 1):
        console.print(f"[{number}] {note}", style="dim", markup=False)


def show_over_time(comparisons: Sequence[Comparison]) -> None:
    """Print what each method reached with each budget."""
    last = comparisons[-1]
    console.print(f"{last.dataset} {last.split}, {last.shots}-shot, MRR after training for", markup=False)
    headings, *rows = over_time_table(comparisons)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)


def read_shots(text: str) -> tuple[int, ...]:
    """Return the numbers between the commas."""
    counts = tuple(dict.fromkeys(int(part) if part.strip().isdecimal() else 0 for part in text.split(",")))
    if min(counts) < 1:
        raise InputError(f"--shots is a number of examples, or several with commas between: 1,5; not {text!r}")
    return counts
