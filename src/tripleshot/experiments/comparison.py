"""A fair comparison: every method on the same machine with the same time to train, chosen on the valid tasks.

What is reported is ranked on all test tasks; what is to be chosen itself, such as variants of one method, is compared
on the valid tasks instead.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Split, check_shots
from tripleshot.evaluation.protocol import count_queries
from tripleshot.evaluation.results import Result, describe_environment, write_json
from tripleshot.experiments.cells import Plan, Reporter, SilentReporter, run_cell
from tripleshot.experiments.comparison_document import as_document
from tripleshot.experiments.comparison_table import Comparison, as_markdown, make_comparison
from tripleshot.experiments.variants import Variant, read_methods, read_starts
from tripleshot.files.atomic import write_file
from tripleshot.methods import find_method
from tripleshot.methods.settings import check_bounds
from tripleshot.training.budget import read_budget, write_budget

SHORTER = "after-"  # begins the name of a folder with trainings that were given less time


def compare(
    methods: str | Iterable[str] | None,
    dataset: FewShotDataset | str | Path,
    *,
    shots: int = 5,
    budget: str | float | timedelta = "10m",
    out: str | Path | None = None,
    seeds: int = 1,
    preset: str = "fast",
    pretrained: str | Mapping[str, str] | None = None,
    queries: int = 0,
    split: Split = "test",
    device: str = "cpu",
    workers: int | None = None,
    reporter: Reporter | None = None,
) -> Comparison:
    """Train every method for the same time, rank all queries of a split, and lay the results out side by side.

    Args:
        methods: names; also variants, such as "metar@pre-train" or "rscl@dropout=0.3". None is every method.
        dataset: to train and ask on, or its name or folder.
        shots: K, the number of examples per relation.
        budget: time that each training is given, such as "10m": preparing, steps, validations and checkpoints count;
            reading the data and ranking the queries do not.
        out: a folder to keep every run, the table and its figure in. What is finished there is never done again: the
            same call goes on after an interruption. None keeps nothing.
        seeds: trainings of each method, with seeds from 0; one that does not learn needs only one.
        preset: where settings start from; one that a method does not have means `fast` to it.
        pretrained: method to the embedding method whose vectors it starts from, which is trained first with a budget
            of its own; None is what the papers start from.
        queries: rank about so many queries instead of all, the same ones of every method.
        split: test to report, valid to choose between variants.
        device: where to compute.
        workers: processes that rank the queries at the same time; trainings stay one after the other.
        reporter: shows how far it is.
    """
    check_shots(shots)
    check_bounds("seeds", seeds, 1)
    check_bounds("queries", queries, 0)
    seconds, chosen, starts = read_budget(budget or 0), read_methods(methods), read_starts(pretrained)
    data = "" if isinstance(dataset, FewShotDataset) else str(dataset)
    with tempfile.TemporaryDirectory() if out is None else nullcontext(out) as folder:
        where = (split, device, workers)
        plan = Plan(data, Path(folder), seconds, chosen, (shots,), seeds, preset, starts, queries, *where)
        plan.check()
        loaded = dataset if isinstance(dataset, FewShotDataset) else load_dataset(data)
        comparison = run_plan(plan, loaded, reporter)[0]
        if out is not None:
            write_comparison(comparison, loaded, plan.out)
    return comparison


def run_plan(plan: Plan, dataset: FewShotDataset, reporter: Reporter | None = None) -> list[Comparison]:
    """Run what is not finished, and return one comparison for each number of examples."""
    for shots in plan.shots:
        count_queries(dataset, shots, plan.split)  # what cannot be asked is not trained for hours
    results: dict[int, list[Result]] = {shots: [] for shots in plan.shots}
    for cell in plan.cells():
        results[cell.shots].append(run_cell(plan, cell, dataset, reporter or SilentReporter()))
    return [make_comparison(found, dataset.name, shots, plan.budget, plan.split) for shots, found in results.items()]


def run_budgets(
    plan: Plan, budgets: Sequence[float], dataset: FewShotDataset, reporter: Reporter | None = None
) -> list[tuple[Comparison, ...]]:
    """Run a plan with each of several budgets; return, for each number of examples, one comparison per budget.

    The runs of the plan's own budget, the longest, are kept in its folder; those of less time in folders below it,
    without methods that do not learn.
    """
    return list(zip(*(run_plan(_with_budget(plan, budget), dataset, reporter) for budget in budgets), strict=True))


def _with_budget(plan: Plan, budget: float) -> Plan:
    if budget == plan.budget:
        return plan
    learning = tuple(label for label in plan.methods if find_method(Variant.read(label).method).learns)
    return replace(plan, budget=budget, out=plan.out / f"{SHORTER}{write_budget(budget)}", methods=learning)


def write_comparison(comparison: Comparison, dataset: FewShotDataset, folder: Path) -> None:
    """Write a comparison as JSON and Markdown, and its figure: compare-5-shot.json, .md and .png."""
    from tripleshot.experiments.figures import draw_comparison  # matplotlib takes half a second to import

    stem = folder / _file_name("compare", comparison)
    write_json({**as_document(comparison), **_describe_origin(dataset)}, stem.with_suffix(".json"))
    write_file(stem.with_suffix(".md"), as_markdown(comparison).encode())
    draw_comparison(comparison, stem.with_suffix(".png"))


def write_over_time(comparisons: Sequence[Comparison], dataset: FewShotDataset, folder: Path) -> None:
    """Write what more time brings as JSON and Markdown, and its figure: over-time-5-shot.json, .md and .png."""
    from tripleshot.experiments.over_time import draw_over_time, over_time_document, over_time_markdown

    stem = folder / _file_name("over-time", comparisons[-1])
    write_json({**over_time_document(comparisons), **_describe_origin(dataset)}, stem.with_suffix(".json"))
    write_file(stem.with_suffix(".md"), over_time_markdown(comparisons).encode())
    draw_over_time(comparisons, stem.with_suffix(".png"))


def _file_name(kind: str, comparison: Comparison) -> str:
    """Return the name of a comparison's files; one about valid tasks says so."""
    return f"{kind}-{'' if comparison.split == 'test' else f'{comparison.split}-'}{comparison.shots}-shot"


def _describe_origin(dataset: FewShotDataset) -> dict[str, Any]:
    return {"data_hash": dataset.content_hash, **describe_environment()}
