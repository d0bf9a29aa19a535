"""`tripleshot evaluate` and `tripleshot methods`."""

from pathlib import Path

from cyclopts.types import PositiveInt
from rich.table import Table

from tripleshot.cli.display import console, metrics_table, progress_bar, summary_table
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import CandidateMode, FewShotDataset, Split
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.evaluation.ranks import TIE_RULES, summarize
from tripleshot.evaluation.results import EvaluationSpec, describe, write_json
from tripleshot.methods import PYKEEN, find_method, find_methods, settings_of
from tripleshot.methods.protocol import Method
from tripleshot.tables import check_suffix
from tripleshot.training.fit import fit
from tripleshot.training.log import describe_training
from tripleshot.training.runs import load_run


def evaluate_command(
    data: str,
    *,
    method: str | None = None,
    run: Path | None = None,
    shots: PositiveInt | None = None,
    split: Split = "test",
    candidates: CandidateMode = "benchmark",
    json: Path | None = None,
    ranks: Path | None = None,
) -> None:
    """Rank every query of a split by the field's protocol and print MRR and Hits@10/5/1.

    The first K triples of each relation are the examples, all others are queries; each true tail is ranked among the
    candidates that are not known to be true; equal scores count against it.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    method
        What ranks; `tripleshot methods` lists them.
    run
        Or a folder that `tripleshot train` has written.
    shots
        K, the number of examples per relation; 5, or what the run was trained for.
    split
        The tasks to ask about: choose on valid, report on test.
    candidates
        `benchmark` ranks among all entities typed like any answer, as published; `open` knows the examples only, as in
        real use, and counts an answer that is no candidate as never found.
    json
        Write the results, with all that is needed to get them again, to this file.
    ranks
        Write the rank of every query to this file: .parquet, .tsv or .csv.
    """
    if ranks:
        check_suffix(ranks)
    dataset = load_dataset(data)
    scorer, spec = _choose(dataset, method, run, shots, split, candidates)
    method, shots = spec.method, spec.shots
    with progress_bar(f"{method}, {shots} shots") as progress:
        evaluation = evaluate(scorer, dataset, shots, split, candidates=candidates, progress=progress)
    title = f"{method} on {dataset.name} {split}, {shots} shots, {len(evaluation.ranks):,} queries"
    console.print(summary_table(title, evaluation.summary, dataset))
    by_rule = {str(rule): summarize(evaluation.ranks, rule).micro for rule in TIE_RULES}
    console.print(metrics_table("micro by tie rule", by_rule, "equal scores"))
    console.print(f"{evaluation.seconds:.1f} s", style="dim")
    if json:
        write_json(describe(evaluation, dataset, spec), json)
    if ranks:
        evaluation.write(ranks)


def _choose(
    dataset: FewShotDataset, method: str | None, run: Path | None, shots: int | None, split: Split, mode: CandidateMode
) -> tuple[Method, EvaluationSpec]:
    """Return a method that is ready to score, and what is to be evaluated."""
    if (method is None) == (run is None):
        raise InputError("say what to evaluate: --method NAME or --run FOLDER")
    if run is not None:
        trained, config = load_run(run, dataset)
        training = {"command": config.command, "commit": config.commit, **describe_training(run)}
        seed = config.settings.get("seed", 0)
        return trained, EvaluationSpec(
            config.method, shots or config.shots, split, mode, seed, config.settings, training
        )
    entry = find_method(str(method))
    if entry.learns:
        raise InputError(f"{method} has to learn first: tripleshot train DATA RUN --method {method}, then --run RUN")
    scorer = entry.create()
    fit(scorer, dataset, shots or 5)
    return scorer, EvaluationSpec(str(method), shots or 5, split, mode, config=settings_of(scorer))


def methods_command() -> None:
    """List every method, its family and what it does."""
    table = Table()
    for name in ("method", "family", "what it does"):
        table.add_column(name)
    for name, entry in find_methods().items():
        table.add_row(name, entry.kind, entry.summary)
    table.add_row(f"{PYKEEN}MODEL", "pykeen", f"any model of PyKEEN, such as {PYKEEN}RotatE; needs the extra pykeen")
    console.print(table)
