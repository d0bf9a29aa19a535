"""The paper's main table: every method, 1-shot and 5-shot, beside the printed figures."""

from collections.abc import Sequence
from typing import Any

from tripleshot.experiments.comparison_figure import draw_comparison
from tripleshot.experiments.comparison_table import compare
from tripleshot.experiments.paper.claims import Contest, against_all, judge
from tripleshot.experiments.paper.report import NONE, PRINTED, Claim, Picture, Report, Table
from tripleshot.experiments.paper.results import (
    Material,
    Results,
    average,
    duration,
    figure,
    missing,
    notes_on,
    printed_figure,
)
from tripleshot.experiments.published import METRICS, Published, published_for
from tripleshot.methods import METHODS

UNTRAINED = tuple(name for name, entry in METHODS.items() if not entry.learns)
EMBEDDINGS = ("transe", "transh", "transr", "rescal", "distmult", "complex")
MATCHING = ("gmatching", "fsrl", "faan")
PRINTED_ROWS = (*EMBEDDINGS, "gmatching", "metar", "metar@pre-train", "fsrl", "faan", "gana", "rscl")
OTHERS = tuple(name for name in METHODS if name not in (*UNTRAINED, *PRINTED_ROWS))
ROWS = (*UNTRAINED, *PRINTED_ROWS, *OTHERS)
NAMES = ("MRR", "Hits@10", "Hits@5", "Hits@1")
SOURCE = "RSCL's main table"


def main_report(material: Material, shots: Sequence[int] = (1, 5)) -> Report:
    """Lay out a table and a figure for each number of examples."""
    return Report(
        "main",
        "All methods",
        (
            "Every method by the same protocol, chosen on dev and ranked on test. The paper's figures stand beside "
            "ours; methods that do not learn are not in the paper: they are what training has to beat.",
        ),
        tuple(table for count in shots if (table := _table(material, count)).rows),
        tuple(_picture(material, count) for count in shots if _found(material.main, count)),
        tuple(_claims(material.main, shots)),
        missing(material.main, [(label, count) for count in shots for label in ROWS], "main", material.words),
        {str(count): _data(material.main, count) for count in shots},
    )


def _found(results: Results, shots: int) -> list[dict[str, Any]]:
    return [result for label in ROWS for result in results.of(label, shots)]


def _table(material: Material, shots: int) -> Table:
    beside = {row.label: row for row in published_for(material.dataset.name, shots) if row.source == SOURCE}
    headings = ("method", *(heading for name in NAMES for heading in (name, PRINTED)), "training")
    rows = [
        _row(label, material.main.of(label, shots), beside.get(label))
        for label in ROWS
        if material.main.of(label, shots) or label in beside
    ]
    notes = notes_on(material.main.of(label, shots) for label in ROWS)
    return Table(f"{shots}-shot", headings, tuple(rows), notes).without_empty()


def _row(label: str, results: tuple[dict[str, Any], ...], beside: Published | None) -> tuple[str, ...]:
    cells = [label]
    for metric in METRICS:
        cells += [figure(results, "micro", metric), printed_figure(beside.metrics[metric] if beside else None)]
    return *cells, training_time(results)


def training_time(results: Sequence[dict[str, Any]]) -> str:
    """Write how long a training took, all that was spent where that is known."""
    if not results:
        return NONE
    seconds = average(results, "training", "spent") or average(results, "training", "seconds")
    return duration(seconds) if seconds else "none"


def _picture(material: Material, shots: int) -> Picture:
    comparison = compare(_found(material.main, shots), material.dataset.name, shots, 0.0)
    caption = f"{shots}-shot: test MRR against training time, and how each method came there on dev."
    return Picture(f"main-{shots}-shot", caption, lambda path: draw_comparison(comparison, path))


def _claims(results: Results, shots: Sequence[int]) -> list[Claim]:
    texts = {
        "RSCL is above every embedding method in MRR.": EMBEDDINGS,
        "RSCL is above GMatching, FSRL and FAAN in MRR.": MATCHING,
        "RSCL is above MetaR and GANA in MRR.": ("metar", "metar@pre-train", "gana"),
    }
    return [judge(text, [_contest(results, labels, count) for count in shots]) for text, labels in texts.items()]


def _contest(results: Results, labels: Sequence[str], shots: int) -> Contest:
    ours, *theirs = (average(results.of(label, shots), "micro", "mrr") for label in ("rscl", *labels))
    return against_all(f"{shots}-shot", ours, dict(zip(labels, theirs, strict=True)))


def _data(results: Results, shots: int) -> dict[str, Any]:
    found = {label: results.of(label, shots) for label in ROWS}
    return {
        label: {metric: average(some, "micro", metric) for metric in METRICS} for label, some in found.items() if some
    }
