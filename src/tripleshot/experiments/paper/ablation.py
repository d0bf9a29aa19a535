"""The paper's ablation: RSCL without distant neighbors, without the global encoder, without the local encoder."""

from collections.abc import Sequence
from typing import Any

from tripleshot.experiments.figures import COLORS, SeriesStyle, draw_dot_plot
from tripleshot.experiments.paper.main_table import training_time
from tripleshot.experiments.paper.report import (
    PRINTED,
    Claim,
    Inequality,
    Picture,
    Report,
    Table,
    check_claim,
    format_value,
)
from tripleshot.experiments.paper.results import (
    PaperResults,
    Results,
    find_missing,
    format_mean,
    result_notes,
    seed_mean,
)
from tripleshot.experiments.paper.values import printed_rows
from tripleshot.files.atomic import write_figure

ROWS = {
    "rscl": "full model",
    "rscl@without-distant": "without distant neighbors",
    "rscl@without-global": "without global encoder",
    "rscl@without-local": "without local encoder",
}
METRICS = {"mrr": "MRR", "hits@10": "Hits@10"}


def ablation_report(collected: PaperResults, shots: Sequence[int] = (1, 5)) -> Report:
    """Make the table and the figure, and check which parts of the network help."""
    results = collected.studies
    return Report(
        "ablation",
        "Ablation",
        (
            "One training each, with equal budgets. Without the global encoder there is nothing to pre-train; if the "
            "runs share one pre-training, that variant starts from its element and position embeddings.",
        ),
        tuple(_table(collected, count) for count in shots),
        (_picture(collected, shots),) if any(results.of(label, count) for label in ROWS for count in shots) else (),
        tuple(ablation_claims(results, shots)),
        find_missing(results, [(label, count) for count in shots for label in ROWS], "ablation", collected.arguments),
        {str(count): _data(results, count) for count in shots},
    )


def _printed(collected: PaperResults) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in printed_rows("ablation", collected.dataset.name)}


def _table(collected: PaperResults, shots: int) -> Table:
    printed = _printed(collected)
    headings = ("configuration", *(heading for name in METRICS.values() for heading in (name, PRINTED)), "training")
    rows = []
    for label, name in ROWS.items():
        found, cells = collected.studies.of(label, shots), [name]
        for metric in METRICS:
            theirs = printed.get(label, {}).get(str(shots), {}).get(metric)
            cells += [format_mean(found, "micro", metric), format_value(theirs)]
        rows.append((*cells, training_time(found)))
    notes = result_notes(collected.studies.of(label, shots) for label in ROWS)
    return Table(f"{shots}-shot", headings, tuple(rows), notes).without_empty()


def _picture(collected: PaperResults, shots: Sequence[int]) -> Picture:
    printed = _printed(collected)
    series: dict[str, list[float | None]] = {}
    styles = {}
    for place, count in enumerate(sorted(shots, reverse=True)):
        ours, theirs = f"{count}-shot", f"{count}-shot, {PRINTED}"
        series[ours] = [seed_mean(collected.studies.of(label, count), "micro", "mrr") for label in ROWS]
        series[theirs] = [printed.get(label, {}).get(str(count), {}).get("mrr") for label in ROWS]
        color = COLORS[place % len(COLORS)]
        styles |= {ours: SeriesStyle(color, "-", "o"), theirs: SeriesStyle(color, "--", "D", is_hollow=True)}
    series = {name: values for name, values in series.items() if any(value is not None for value in values)}
    drawn = draw_dot_plot(tuple(ROWS.values()), series, styles, "test MRR")
    return Picture("ablation", "Test MRR of RSCL and of RSCL without each part.", lambda p: write_figure(drawn, p))


def ablation_claims(results: Results, shots: Sequence[int]) -> list[Claim]:
    """Check the claims about the parts of the network."""

    def mrr(label: str, count: int) -> float | None:
        return seed_mean(results.of(label, count), "micro", "mrr")

    def is_above(higher: str, lower: str) -> list[Inequality]:
        return [Inequality(f"{count}-shot", mrr(higher, count), mrr(lower, count)) for count in shots]

    return [
        check_claim("Distant neighbors help.", is_above("rscl", "rscl@without-distant")),
        check_claim("The global encoder helps.", is_above("rscl", "rscl@without-global")),
        check_claim("The local encoder helps.", is_above("rscl", "rscl@without-local")),
        check_claim(
            "The global encoder alone beats the local one alone.",
            is_above("rscl@without-local", "rscl@without-global"),
        ),
    ]


def _data(results: Results, shots: int) -> dict[str, dict[str, float | None]]:
    return {
        label: {metric: seed_mean(results.of(label, shots), "micro", metric) for metric in METRICS}
        for label in ROWS
        if results.of(label, shots)
    }
