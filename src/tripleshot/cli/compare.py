"""`tripleshot compare`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt
from rich.box import SIMPLE_HEAD
from rich.table import Table

from tripleshot.atomic import write_file
from tripleshot.cli.display import console, progress_bar
from tripleshot.cli.train import training_display
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.results import describe_environment, write_json
from tripleshot.experiments.comparison import EVERYTHING, SHORTER, Cell, Plan, run_cell
from tripleshot.experiments.comparison_table import (
    HEADINGS,
    SPREAD,
    Comparison,
    as_document,
    as_markdown,
    lay_out,
    make_comparison,
)
from tripleshot.experiments.figures import draw_comparison
from tripleshot.experiments.over_time import draw_over_time, over_time_document, over_time_markdown, over_time_table
from tripleshot.experiments.variants import STARTS, Variant
from tripleshot.methods import find_method
from tripleshot.training.budget import read_budget, write_budget
from tripleshot.training.runs import CONFIG
from tripleshot.training.trainer import TrainingCallback

NUMERIC = range(1, len(HEADINGS) - 1)
ROOMY = 110  # columns of a terminal that has room for everything


class LiveReport:
    """Shows each cell while it runs."""

    def training(self, cell: Cell) -> AbstractContextManager[TrainingCallback]:
        """Say what is trained, with live progress."""
        console.print(f"training {cell}", style="dim")
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
) -> None:
    """Compare every method on DATA: the same machine and training time for each, chosen on dev, ranked on all of test.

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
        Time that each training is given, such as 20m or 1h30m, from its first step on: steps, validations and
        checkpoints count; reading the data and the test do not. Several times, such as 1m 5m 30m, train each method for
        each of them and show what more time brings: over-time-K-shot.json, .md and .png. The longest is kept in OUT,
        the others in OUT/after-1m and so on.
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
    """  # noqa: D405, D411, D416
    if threads:
        torch.set_num_threads(threads)
    given = sorted({read_budget(time) for time in budget})
    plan = Plan(
        data,
        out,
        given[-1],
        read_methods(methods),
        read_shots(shots),
        seeds,
        preset,
        dict(STARTS) if pretrained is None else read_pairs(pretrained),
        queries,
        split,
        device,
    )
    check_settings(plan)
    dataset = load_dataset(data)
    about = {"data_hash": dataset.content_hash, **describe_environment()}
    if len(given) == 1:
        for comparison in run_plan(plan, dataset):
            show(comparison)
            write(comparison, {**as_document(comparison), **about}, out)
    else:
        for comparisons in zip(*(run_plan(shorter(plan, time), dataset) for time in given), strict=True):
            show_over_time(comparisons)
            write_over_time(comparisons, {**over_time_document(comparisons), **about}, out)
    console.print(f"written to {out}", style="dim")


def run_plan(plan: Plan, dataset: FewShotDataset) -> list[Comparison]:
    """Run what is not finished, and return one comparison for each number of examples."""
    results: dict[int, list[dict[str, Any]]] = {shots: [] for shots in plan.shots}
    for cell in plan.cells():
        results[cell.shots].append(run_cell(plan, cell, dataset, LiveReport()))
    return [make_comparison(found, dataset.name, shots, plan.budget, plan.split) for shots, found in results.items()]


def shorter(plan: Plan, budget: float) -> Plan:
    """Return the plan of less time: in a folder of its own, without methods that do not learn."""
    if budget == plan.budget:
        return plan
    learning = tuple(label for label in plan.methods if find_method(Variant.read(label).method).learns)
    return replace(plan, budget=budget, out=plan.out / f"{SHORTER}{write_budget(budget)}", methods=learning)


def show(comparison: Comparison) -> None:
    """Print the table; in a narrow terminal weights and spreads are left out and remarks stand below it."""
    asked = f"{comparison.dataset} {comparison.split}, {comparison.shots}-shot"
    title = f"{asked}, at most {comparison.budget:,.0f} s of training"
    is_roomy = console.width >= ROOMY
    shown = len(HEADINGS) if is_roomy else NUMERIC.stop - 1
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
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


def write(comparison: Comparison, document: dict[str, Any], out: Path) -> None:
    """Write the table as JSON and Markdown, and the figure."""
    stem = stem_of("compare", comparison)
    write_json(document, out / f"{stem}.json")
    write_file(out / f"{stem}.md", as_markdown(comparison).encode())
    draw_comparison(comparison, out / f"{stem}.png")


def stem_of(kind: str, comparison: Comparison) -> str:
    """Return the name of its files, without suffix; what was asked about valid tasks says so."""
    return f"{kind}-{'' if comparison.split == 'test' else f'{comparison.split}-'}{comparison.shots}-shot"


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


def write_over_time(comparisons: Sequence[Comparison], document: dict[str, Any], out: Path) -> None:
    """Write what more time brings as JSON, Markdown and a figure."""
    stem = stem_of("over-time", comparisons[-1])
    write_json(document, out / f"{stem}.json")
    write_file(out / f"{stem}.md", over_time_markdown(comparisons).encode())
    draw_over_time(comparisons, out / f"{stem}.png")


def check_settings(plan: Plan) -> None:
    """Find a wrong preset or start now, not after hours."""
    for cell in plan.cells():
        if find_method(cell.method).learns:
            plan.settings(cell)


def read_methods(text: str | None) -> tuple[str, ...]:
    """Return the names between the commas, or every method."""
    if not text:
        return EVERYTHING
    return tuple(dict.fromkeys(str(Variant.read(name.strip())) for name in text.split(",")))


def read_shots(text: str) -> tuple[int, ...]:
    """Return the numbers between the commas."""
    counts = tuple(dict.fromkeys(int(part) if part.strip().isdecimal() else 0 for part in text.split(",")))
    if min(counts) < 1:
        raise InputError(f"--shots is a number of examples, or several with commas between: 1,5; not {text!r}")
    return counts


def read_pairs(text: str) -> dict[str, str]:
    """Return method to embedding method, from METHOD=EMBEDDING with commas between; RSCL's is a run."""
    pairs = {}
    for part in filter(None, text.split(",")):
        name, _, source = (word.strip() for word in part.rpartition("="))
        method = Variant.read(name)
        if method.method == "rscl":
            pairs[name] = read_run(Path(source))
        elif find_method(method.method).learns and find_method(source).kind == "embedding":
            pairs[name] = source
        else:
            raise InputError(f"--pretrained {part}: give METHOD=EMBEDDING, such as gmatching=complex")
    return pairs


def read_run(folder: Path) -> str:
    """Return the whole path of a run."""
    if not (folder / CONFIG).exists():
        raise InputError(f"{folder}: not a run, it has no {CONFIG}")
    return str(folder.resolve())
