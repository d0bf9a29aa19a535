"""`tripleshot paper`: every table and figure of the paper from our own runs."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from tripleshot.atomic import write_file
from tripleshot.cli.compare import LiveReport, read_shots
from tripleshot.cli.conditions import Conditions, Desk, Where
from tripleshot.cli.display import console
from tripleshot.cli.reports import finish, show_verdicts
from tripleshot.errors import InputError
from tripleshot.evaluation.results import RUNS, command
from tripleshot.experiments.cells import Cell, train_cell
from tripleshot.experiments.paper.ablation import ROWS as ABLATIONS
from tripleshot.experiments.paper.ablation import ablation_report
from tripleshot.experiments.paper.attention import Triple, attention_report, no_attention_report, triple_of
from tripleshot.experiments.paper.cases import METHODS as CASES
from tripleshot.experiments.paper.cases import cases_report
from tripleshot.experiments.paper.datasets import datasets_report
from tripleshot.experiments.paper.grid_search import NAME as SEARCH
from tripleshot.experiments.paper.grid_search import STUDY, read_grid, search, search_report, variant_at
from tripleshot.experiments.paper.lambda_study import CURVES, curves_report, label_at, lambda_report
from tripleshot.experiments.paper.long_tail import LEARNED, long_tail_report
from tripleshot.experiments.paper.main_table import ROWS, main_report
from tripleshot.experiments.paper.page import build_page
from tripleshot.experiments.paper.report import Report, find_report, write_report, write_reports
from tripleshot.experiments.paper.results import STUDIES
from tripleshot.experiments.variants import LAMBDAS, Variant, read_methods
from tripleshot.training.runs import CONFIG

app = App(
    name="paper",
    help="Make the paper's tables and figures: collect finished runs, train what is missing.\n\n"
    "DATA is a dataset of the catalog, a folder or a file of triples. What is finished is kept: the same command goes "
    "on after an interruption.",
    help_format="markdown",
)
WhereFlags = Annotated[Where, Parameter(name="*")]
ConditionFlags = Annotated[Conditions, Parameter(name="*")]
HERE, USUAL = Where(), Conditions()
BOTH, FIVE = "1,5", "5"


@app.command
def datasets(data: str, *, where: WhereFlags = HERE) -> None:
    """Make the dataset table and the figure of neighbor counts."""
    finish(datasets_report(Desk.open(data, where, USUAL).dataset), where.out)


@app.command
def main(
    data: str,
    *,
    where: WhereFlags = HERE,
    shots: str = BOTH,
    methods: str | None = None,
    conditions: ConditionFlags = USUAL,
) -> None:
    """Make the main table: all methods, beside the printed figures.

    Parameters
    ----------
    data
        What to train and test on.
    shots
        Numbers of examples, with commas between.
    methods
        Train only these, with commas between; the table has all that have results.
    """  # noqa: D405, D411, D416
    desk, counts = Desk.open(data, where, conditions), read_shots(shots)
    desk.train_methods(read_methods(methods) if methods else ROWS, counts)
    finish(main_report(desk.gather(), counts), where.out)


@app.command
def ablation(data: str, *, where: WhereFlags = HERE, shots: str = BOTH, conditions: ConditionFlags = USUAL) -> None:
    """Make the ablation table: RSCL without distant neighbors, without either encoder."""
    desk, counts = Desk.open(data, where, conditions), read_shots(shots)
    desk.train_variants(ABLATIONS, counts)
    finish(ablation_report(desk.gather(), counts), where.out)


@app.command(name="lambda")
def lambda_command(
    data: str, *, where: WhereFlags = HERE, shots: str = FIVE, conditions: ConditionFlags = USUAL
) -> None:
    """Make the figure of MRR over lambda, one training for each value."""
    desk, count = Desk.open(data, where, conditions), one_of(shots)
    desk.train_variants([label_at(share) for share in LAMBDAS], (count,))
    finish(lambda_report(desk.gather(), count), where.out)


@app.command
def curves(data: str, *, where: WhereFlags = HERE, shots: str = FIVE, conditions: ConditionFlags = USUAL) -> None:
    """Make the figure of learning curves for lambda 0, .4 and 1."""
    desk, count = Desk.open(data, where, conditions), one_of(shots)
    desk.train_variants([label_at(share) for share in CURVES], (count,), takes_finished=True)
    finish(curves_report(desk.gather(), count), where.out)


@app.command(name="long-tail")
def long_tail(data: str, *, where: WhereFlags = HERE, shots: str = FIVE, conditions: ConditionFlags = USUAL) -> None:
    """Make the long-tail table: methods and ablations on queries with few neighbors."""
    desk, count = Desk.open(data, where, conditions), one_of(shots)
    desk.train_methods(LEARNED, (count,), takes_finished=True)
    desk.train_variants(ABLATIONS, (count,), takes_finished=True)
    finish(long_tail_report(desk.gather(), count), where.out)


@app.command
def cases(data: str, *, where: WhereFlags = HERE, shots: str = FIVE, conditions: ConditionFlags = USUAL) -> None:
    """Make the case study: RSCL beside FAAN, relation by relation."""
    desk, count = Desk.open(data, where, conditions), one_of(shots)
    desk.train_methods(CASES, (count,), takes_finished=True)
    finish(cases_report(desk.gather(), count), where.out)


@app.command
def attention(
    data: str,
    *,
    where: WhereFlags = HERE,
    run: Path | None = None,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
) -> None:
    """Draw what the encoders look at in one triple: the paper's, or any other.

    Parameters
    ----------
    data
        What the run was trained on.
    run
        The run to ask; by default an RSCL run below OUT.
    head
        By name, label or id, like the tail; all three words of a triple or none.
    relation
        The few-shot relation, by name.
    tail
        The answer to look at.
    """
    dataset = Desk.open(data, where, USUAL).dataset
    asked = run or find_run(where.out)
    if asked is None:
        raise InputError(f"{where.out}: there is no RSCL run below it; name one with --run")
    words = [word for word in (head, relation, tail) if word]
    if len(words) not in (0, 3):
        raise InputError("name --head, --relation and --tail, or none of them")
    finish(attention_report(dataset, asked, Triple(*words) if words else triple_of(dataset)), where.out)


@app.command(name=SEARCH)
def search_command(
    data: str,
    *,
    where: WhereFlags = HERE,
    grid: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    limit: PositiveInt | None = None,
    shots: str = FIVE,
    conditions: ConditionFlags = USUAL,
) -> None:
    """Search RSCL's settings on a grid, by dev MRR within the budget.

    Parameters
    ----------
    data
        What to train on; the test tasks are never asked.
    grid
        SETTING=VALUE,VALUE; may be given several times. By default the paper's: dropout and lambda.
    limit
        Measure so many points now; the next call goes on.
    shots
        K, the number of examples.
    """
    desk, count, points = Desk.open(data, where, conditions), one_of(shots), read_grid(grid)
    folder = where.out / SEARCH
    plan = conditions.plan(data, folder, ["rscl"], (count,))

    def measure(point: dict[str, Any]) -> float:
        cell = Cell("rscl", count, 0, str(Variant.read(f"rscl@{variant_at(point)}").name))
        best = train_cell(plan, cell, desk.dataset, LiveReport())[1]["best"]
        if best is None:
            raise InputError(f"{desk.dataset.name} has no valid tasks to choose on")
        return best["valid_mrr"]

    name = f"{count}-shot, {plan.budget:g} s, {plan.preset}, {points}"
    found = search(points, measure, folder / STUDY, name, limit)
    finish(search_report(found, points, command()), where.out)


@app.command(name="all")
def all_command(data: str, *, where: WhereFlags = HERE, shots: str = BOTH) -> None:
    """Put everything on one page, from the results that exist; it trains nothing and says what is missing.

    Parameters
    ----------
    data
        What the results are about.
    shots
        Numbers of examples of the main table and the ablation; the others take the largest.
    """
    desk, counts = Desk.open(data, where, USUAL), read_shots(shots)
    collected, most = desk.gather(), max(counts)
    made = [
        datasets_report(desk.dataset),
        main_report(collected, counts),
        ablation_report(collected, counts),
        lambda_report(collected, most),
        curves_report(collected, most),
        long_tail_report(collected, most),
        cases_report(collected, most),
    ]
    for report in made:
        write_report(report, where.out)
    reports = [*made, kept_attention(desk), kept_search(desk)]
    write_reports(reports, where.out)
    found = [*collected.main.in_rows(), *collected.studies.in_rows()]
    page = build_page(desk.dataset, collected.data_hash, reports, found, where.out)
    write_file(where.out / "index.html", page.encode())
    for report in reports:
        show_verdicts(report)
    console.print(f"written to {where.out / 'index.html'}", style="dim")


def kept_attention(desk: Desk) -> Report:
    """Return the report that was made before, or that of a run below OUT; figures that are not in OUT are missing."""
    out = desk.where.out
    run = None if (out / "attention.json").exists() else find_run(out)
    if run is not None:
        report = attention_report(desk.dataset, run, triple_of(desk.dataset))
        write_report(report, out)
        return report
    words = ["tripleshot", "paper", "attention", desk.data, "--out", str(out), "--run", "RUN"]
    without = no_attention_report(shlex.join(words))
    kept = find_report(without.name, desk.where.folders())
    if kept is None:
        return without
    drawn = tuple(picture for picture in kept.pictures if (out / f"{picture.stem}.png").exists())
    return replace(kept, pictures=drawn, missing=() if drawn else without.missing)


def kept_search(desk: Desk) -> Report:
    """Return the search as it was written last."""
    words = ["tripleshot", "paper", SEARCH, desk.data, "--out", str(desk.where.out)]
    return find_report(SEARCH, desk.where.folders()) or search_report([], read_grid(()), shlex.join(words))


def find_run(out: Path) -> Path | None:
    """Return an RSCL run with weights below OUT: of the main table, or else of the studies."""
    found = [
        config.parent
        for folder in (out / RUNS, out / STUDIES / RUNS)
        for config in sorted(folder.glob(f"rscl-*/{CONFIG}"), reverse=True)
        if (config.parent / "weights.safetensors").exists()
    ]
    return found[0] if found else None


def one_of(shots: str) -> int:
    """Read a single number of examples."""
    counts = read_shots(shots)
    if len(counts) > 1:
        raise InputError(f"--shots is one number of examples here, not {shots!r}")
    return counts[0]
