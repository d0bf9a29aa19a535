"""The paper's ablation: RSCL without distant neighbors, without the global encoder, without the local encoder."""

from collections.abc import Sequence
from typing import Any

from tripleshot.experiments.figures import COLORS, Look, draw_rows, save
from tripleshot.experiments.paper.claims import Contest, judge
from tripleshot.experiments.paper.main_table import training_time
from tripleshot.experiments.paper.report import PRINTED, Claim, Picture, Report, Table
from tripleshot.experiments.paper.results import (
    Material,
    Results,
    average,
    figure,
    missing,
    notes_on,
    printed_figure,
)
from tripleshot.experiments.paper.values import printed

ROWS = {
    "rscl": "full model",
    "rscl@without-distant": "without distant neighbors",
    "rscl@without-global": "without global encoder",
    "rscl@without-local": "without local encoder",
}
METRICS = {"mrr": "MRR", "hits@10": "Hits@10"}


def ablation_report(material: Material, shots: Sequence[int] = (1, 5)) -> Report:
    """Lay out the table and the figure, and say which parts of the network help."""
    results = material.studies
    return Report(
        "ablation",
        "Ablation",
        (
            "One training each, in equal time. Without the global encoder there is nothing to pre-train; where the "
            "runs share one pre-training, that variant starts from its element and position embeddings.",
        ),
        tuple(_table(material, count) for count in shots),
        (_picture(material, shots),) if any(results.of(label, count) for label in ROWS for count in shots) else (),
        tuple(ablation_claims(results, shots)),
        missing(results, [(label, count) for count in shots for label in ROWS], "ablation", material.words),
        {str(count): _data(results, count) for count in shots},
    )


def _printed(material: Material) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in printed("ablation", material.dataset.name)}


def _table(material: Material, shots: int) -> Table:
    beside = _printed(material)
    headings = ("configuration", *(heading for name in METRICS.values() for heading in (name, PRINTED)), "training")
    rows = []
    for label, name in ROWS.items():
        found, cells = material.studies.of(label, shots), [name]
        for metric in METRICS:
            theirs = beside.get(label, {}).get(str(shots), {}).get(metric)
            cells += [figure(found, "micro", metric), printed_figure(theirs)]
        rows.append((*cells, training_time(found)))
    notes = notes_on(material.studies.of(label, shots) for label in ROWS)
    return Table(f"{shots}-shot", headings, tuple(rows), notes).without_empty()


def _picture(material: Material, shots: Sequence[int]) -> Picture:
    beside = _printed(material)
    series: dict[str, list[float | None]] = {}
    looks = {}
    for place, count in enumerate(sorted(shots, reverse=True)):
        ours, theirs = f"{count}-shot", f"{count}-shot, {PRINTED}"
        series[ours] = [average(material.studies.of(label, count), "micro", "mrr") for label in ROWS]
        series[theirs] = [beside.get(label, {}).get(str(count), {}).get("mrr") for label in ROWS]
        color = COLORS[place % len(COLORS)]
        looks |= {ours: Look(color, "-", "o"), theirs: Look(color, "--", "D", is_hollow=True)}
    series = {name: values for name, values in series.items() if any(value is not None for value in values)}
    drawn = draw_rows(tuple(ROWS.values()), series, looks, "test MRR")
    return Picture(
        "ablation", "Test MRR of RSCL and of what is left of it without each part.", lambda p: save(drawn, p)
    )


def ablation_claims(results: Results, shots: Sequence[int]) -> list[Claim]:
    """Hold the claims about the parts of the network against our figures."""

    def contests(first: str, second: str) -> list[Contest]:
        return [
            Contest(f"{count}-shot", *(average(results.of(label, count), "micro", "mrr") for label in (first, second)))
            for count in shots
        ]

    return [
        judge("Distant neighbors help.", contests("rscl", "rscl@without-distant")),
        judge("The global encoder helps.", contests("rscl", "rscl@without-global")),
        judge("The local encoder helps.", contests("rscl", "rscl@without-local")),
        judge(
            "The global encoder alone beats the local one alone.", contests("rscl@without-local", "rscl@without-global")
        ),
    ]


def _data(results: Results, shots: int) -> dict[str, dict[str, float | None]]:
    return {
        label: {metric: average(results.of(label, shots), "micro", metric) for metric in METRICS}
        for label in ROWS
        if results.of(label, shots)
    }
