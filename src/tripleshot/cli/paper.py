"""`tripleshot paper`: every table and figure of the paper from our own runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from tripleshot.cli.compare import LiveReport, read_shots
from tripleshot.cli.display import hint, show_report, show_verdicts
from tripleshot.cli.options import use_threads
from tripleshot.datasets.catalog import load_dataset
from tripleshot.errors import InputError
from tripleshot.evaluation.results import command
from tripleshot.experiments.cells import Plan
from tripleshot.experiments.paper.ablation import ROWS as ABLATIONS
from tripleshot.experiments.paper.ablation import ablation_report
from tripleshot.experiments.paper.attention import Triple, attention_report, triple_of
from tripleshot.experiments.paper.cases import METHODS as CASES
from tripleshot.experiments.paper.cases import cases_report
from tripleshot.experiments.paper.datasets import datasets_report
from tripleshot.experiments.paper.grid_search import NAME as SEARCH
from tripleshot.experiments.paper.grid_search import read_grid, search_report, search_rscl
from tripleshot.experiments.paper.lambda_study import CURVES, curves_report, label_at, lambda_report
from tripleshot.experiments.paper.long_tail import LEARNED, long_tail_report
from tripleshot.experiments.paper.main_table import ROWS, main_report
from tripleshot.experiments.paper.report import Report, write_report
from tripleshot.experiments.paper.workflow import PAGE, PaperFolder
from tripleshot.experiments.variants import LAMBDAS, read_methods, read_starts
from tripleshot.training.budget import read_budget

app = App(
    name="paper",
    help="Make the paper's tables and figures: collect finished runs, train what is missing.\n\n"
    "DATA is a dataset of the catalog, a folder or a file of triples. What is finished is kept: the same command goes "
    "on after an interruption.",
    help_format="markdown",
)
OUT_HELP = "The folder to write; runs are kept below it, and what is finished is never trained again."
RESULTS_HELP = "More folders with results, or with runs below them. The folder above OUT is always looked at."


@dataclass(frozen=True)
class ReportOptions:
    """Where results are looked for and written."""

    out: Annotated[Path, Parameter(help=OUT_HELP)] = Path("paper")
    results: Annotated[tuple[Path, ...], Parameter(help=RESULTS_HELP, negative=())] = ()

    def open(self, data: str) -> PaperFolder:
        """Load a dataset, with all that was made from it."""
        return PaperFolder(data, load_dataset(data), self.out, self.results)


@dataclass(frozen=True)
class PaperOptions(ReportOptions):
    """How what is missing is trained and tested, too."""

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

    def plan(self, data: str, labels: Iterable[str], shots: tuple[int, ...]) -> Plan:
        """Return what to train, with everything checked that can be checked before."""
        use_threads(self.threads)
        starts = read_starts(self.pretrained)
        if self.start_from:
            starts |= read_starts({"rscl": str(self.start_from)})
        given = (read_budget(self.budget), tuple(labels), shots, self.seeds, self.preset, starts, self.queries)
        plan = Plan(data, self.out, *given, device=self.device)
        plan.check()
        return plan


Reports = Annotated[ReportOptions, Parameter(name="*")]
Options = Annotated[PaperOptions, Parameter(name="*")]
REPORTS, OPTIONS = ReportOptions(), PaperOptions()
BOTH, FIVE = "1,5", "5"


@app.command
def datasets(data: str, *, options: Reports = REPORTS) -> None:
    """Make the dataset table and the figure of neighbor counts."""
    finish(datasets_report(options.open(data).dataset), options.out)


@app.command
def main(data: str, *, shots: str = BOTH, methods: str | None = None, options: Options = OPTIONS) -> None:
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
    counts = read_shots(shots)
    plan = options.plan(data, read_methods(methods) if methods else ROWS, counts)
    folder = options.open(data)
    folder.train_methods(plan, LiveReport())
    finish(main_report(folder.results(), counts), options.out)


@app.command
def ablation(data: str, *, shots: str = BOTH, options: Options = OPTIONS) -> None:
    """Make the ablation table: RSCL without distant neighbors, without either encoder."""
    counts = read_shots(shots)
    plan, folder = options.plan(data, ABLATIONS, counts), options.open(data)
    folder.train_variants(plan, LiveReport())
    finish(ablation_report(folder.results(), counts), options.out)


@app.command(name="lambda")
def lambda_command(data: str, *, shots: str = FIVE, options: Options = OPTIONS) -> None:
    """Make the figure of MRR over lambda, one training for each value."""
    count = read_single(shots)
    plan, folder = options.plan(data, [label_at(share) for share in LAMBDAS], (count,)), options.open(data)
    folder.train_variants(plan, LiveReport())
    finish(lambda_report(folder.results(), count), options.out)


@app.command
def curves(data: str, *, shots: str = FIVE, options: Options = OPTIONS) -> None:
    """Make the figure of learning curves for lambda 0, .4 and 1."""
    count = read_single(shots)
    plan, folder = options.plan(data, [label_at(share) for share in CURVES], (count,)), options.open(data)
    folder.train_variants(plan, LiveReport(), accept_finished=True)
    finish(curves_report(folder.results(), count), options.out)


@app.command(name="long-tail")
def long_tail(data: str, *, shots: str = FIVE, options: Options = OPTIONS) -> None:
    """Make the long-tail table: methods and ablations on queries with few neighbors."""
    count = read_single(shots)
    methods, variants = (options.plan(data, labels, (count,)) for labels in (LEARNED, ABLATIONS))
    folder = options.open(data)
    folder.train_methods(methods, LiveReport(), accept_finished=True)
    folder.train_variants(variants, LiveReport(), accept_finished=True)
    finish(long_tail_report(folder.results(), count), options.out)


@app.command
def cases(data: str, *, shots: str = FIVE, options: Options = OPTIONS) -> None:
    """Make the case study: RSCL beside FAAN, relation by relation."""
    count = read_single(shots)
    plan, folder = options.plan(data, CASES, (count,)), options.open(data)
    folder.train_methods(plan, LiveReport(), accept_finished=True)
    finish(cases_report(folder.results(), count), options.out)


@app.command
def attention(
    data: str,
    *,
    run: Path | None = None,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    options: Reports = REPORTS,
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
    folder = options.open(data)
    asked = run or folder.find_run()
    if asked is None:
        raise InputError(f"{options.out}: there is no RSCL run below it; name one with --run")
    words = [word for word in (head, relation, tail) if word]
    if len(words) not in (0, 3):
        raise InputError("name --head, --relation and --tail, or none of them")
    triple = Triple(*words) if words else triple_of(folder.dataset)
    finish(attention_report(folder.dataset, asked, triple), options.out)


@app.command(name=SEARCH)
def search_command(
    data: str,
    *,
    grid: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    limit: PositiveInt | None = None,
    shots: str = FIVE,
    options: Options = OPTIONS,
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
    points = read_grid(grid)
    plan = options.plan(data, ["rscl"], (read_single(shots),))
    found = search_rscl(plan, points, options.open(data).dataset, LiveReport(), limit)
    finish(search_report(found, points, command()), options.out)


@app.command(name="all")
def all_command(data: str, *, shots: str = BOTH, options: Reports = REPORTS) -> None:
    """Put everything on one page, from the results that exist; it trains nothing and says what is missing.

    Parameters
    ----------
    data
        What the results are about.
    shots
        Numbers of examples of the main table and the ablation; the others take the largest.
    """
    for report in options.open(data).write_page(read_shots(shots)):
        show_verdicts(report)
    hint(f"written to {options.out / PAGE}")


def finish(report: Report, out: Path) -> None:
    """Write a report and print it."""
    write_report(report, out)
    show_report(report, out)
    hint(f"written to {out}")


def read_single(shots: str) -> int:
    """Read a single number of examples."""
    counts = read_shots(shots)
    if len(counts) > 1:
        raise InputError(f"--shots is one number of examples here, not {shots!r}")
    return counts[0]
