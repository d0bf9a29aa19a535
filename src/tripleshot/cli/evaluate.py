"""`tripleshot evaluate` and `tripleshot methods`."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from tripleshot.catalog import load_dataset
from tripleshot.cli.tables import console, metrics_table, progress_bar, summary_table
from tripleshot.dataset import CandidateMode, Split
from tripleshot.evaluation import TIE_RULES, evaluate, summarize
from tripleshot.method import Method
from tripleshot.methods import METHODS, make_method
from tripleshot.results import Setting, describe, write_json, write_ranks


def evaluate_command(
    data: str,
    *,
    method: str,
    shots: int = 5,
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
    shots
        K, the number of examples per relation.
    split
        The tasks to ask about: choose on valid, report on test.
    candidates
        `benchmark` ranks among all entities typed like any answer, as published; `open` knows the examples only, as in
        real use, and counts an answer that is no candidate as never found.
    json
        Write the results, with all that is needed to get them again, to this file.
    ranks
        Write the rank of every query to this Parquet file.
    """
    dataset = load_dataset(data)
    scorer = make_method(method)
    with progress_bar(f"{method}, {shots} shots") as progress:
        scorer.fit(dataset, shots)
        evaluation = evaluate(scorer, dataset, shots, split, candidates=candidates, progress=progress)
    title = f"{method} on {dataset.name} {split}, {shots} shots, {len(evaluation.ranks):,} queries"
    console.print(summary_table(title, summarize(evaluation.ranks)))
    by_rule = {str(rule): summarize(evaluation.ranks, rule).micro for rule in TIE_RULES}
    console.print(metrics_table("micro by tie rule", by_rule, "equal scores"))
    console.print(f"{evaluation.seconds:.1f} s", style="dim")
    if json:
        setting = Setting(method, shots, split, candidates, config=settings_of(scorer))
        write_json(describe(evaluation, dataset, setting), json)
    if ranks:
        write_ranks(evaluation.ranks, dataset, ranks)


def settings_of(method: Method) -> dict[str, Any]:
    """Return the settings that a method was made with."""
    if not is_dataclass(method):
        return {}
    return {field.name: getattr(method, field.name) for field in fields(method) if field.init}


def methods_command() -> None:
    """List every method, its family and what it does."""
    table = Table()
    for name in ("method", "family", "what it does"):
        table.add_column(name)
    for name, entry in METHODS.items():
        table.add_row(name, entry.kind, entry.summary)
    console.print(table)
