"""The paper's main table: every method with one and with five examples, next to the printed values."""

from collections.abc import Sequence
from typing import Any

from tripleshot.experiments.comparison_table import make_comparison
from tripleshot.experiments.figures import draw_comparison
from tripleshot.experiments.paper.report import (
    NONE,
    PRINTED,
    Claim,
    Inequality,
    Picture,
    Report,
    Table,
    against_best,
    check_claim,
    format_value,
)
from tripleshot.experiments.paper.results import (
    PaperResults,
    Results,
    find_missing,
    format_duration,
    format_mean,
    result_notes,
    seed_mean,
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


def main_report(collected: PaperResults, shots: Sequence[int] = (1, 5)) -> Report:
    """Make one table and one figure per number of examples."""
    return Report(
        "main",
        "All methods",
        (
            "Every method under the same protocol, chosen on dev and ranked on test. The paper's values are next to "
            "ours. Methods without training are not in the paper; they are the baseline that training has to beat.",
        ),
        tuple(table for count in shots if (table := _table(collected, count)).rows),
        tuple(_picture(collected, count) for count in shots if _found(collected.main, count)),
        tuple(_claims(collected.main, shots)),
        find_missing(
            collected.main, [(label, count) for count in shots for label in ROWS], "main", collected.arguments
        ),
        {str(count): _data(collected.main, count) for count in shots},
    )


def _found(results: Results, shots: int) -> list[dict[str, Any]]:
    return [result for label in ROWS for result in results.of(label, shots)]


def _table(collected: PaperResults, shots: int) -> Table:
    printed = {row.label: row for row in published_for(collected.dataset.name, shots) if row.source == SOURCE}
    headings = ("method", *(heading for name in NAMES for heading in (name, PRINTED)), "training")
    rows = [
        _row(label, collected.main.of(label, shots), printed.get(label))
        for label in ROWS
        if collected.main.of(label, shots) or label in printed
    ]
    notes = result_notes(collected.main.of(label, shots) for label in ROWS)
    return Table(f"{shots}-shot", headings, tuple(rows), notes).without_empty()


def _row(label: str, results: tuple[dict[str, Any], ...], printed: Published | None) -> tuple[str, ...]:
    cells = [label]
    for metric in METRICS:
        cells += [format_mean(results, "micro", metric), format_value(printed.metrics[metric] if printed else None)]
    return *cells, training_time(results)


def training_time(results: Sequence[dict[str, Any]]) -> str:
    """Write how long a training took, with validations if they were timed."""
    if not results:
        return NONE
    seconds = seed_mean(results, "training", "spent") or seed_mean(results, "training", "seconds")
    return format_duration(seconds) if seconds else "none"


def _picture(collected: PaperResults, shots: int) -> Picture:
    comparison = make_comparison(_found(collected.main, shots), collected.dataset.name, shots, 0.0)
    caption = f"{shots}-shot: test MRR against training time, and dev MRR while training."
    return Picture(f"main-{shots}-shot", caption, lambda path: draw_comparison(comparison, path))


def _claims(results: Results, shots: Sequence[int]) -> list[Claim]:
    texts = {
        "RSCL is above every embedding method in MRR.": EMBEDDINGS,
        "RSCL is above GMatching, FSRL and FAAN in MRR.": MATCHING,
        "RSCL is above MetaR and GANA in MRR.": ("metar", "metar@pre-train", "gana"),
    }
    return [
        check_claim(text, [_inequality(results, labels, count) for count in shots]) for text, labels in texts.items()
    ]


def _inequality(results: Results, labels: Sequence[str], shots: int) -> Inequality:
    ours, *theirs = (seed_mean(results.of(label, shots), "micro", "mrr") for label in ("rscl", *labels))
    return against_best(f"{shots}-shot", ours, dict(zip(labels, theirs, strict=True)))


def _data(results: Results, shots: int) -> dict[str, Any]:
    found = {label: results.of(label, shots) for label in ROWS}
    return {
        label: {metric: seed_mean(some, "micro", metric) for metric in METRICS} for label, some in found.items() if some
    }
