"""The paper's long-tail table: queries whose head or tail has fewer than ten direct neighbors."""

from collections.abc import Mapping, Sequence
from typing import Any

from tripleshot.experiments.figures import OURS, THEIRS, draw_rows, save
from tripleshot.experiments.paper.ablation import ROWS as VARIANT_ROWS
from tripleshot.experiments.paper.claims import Contest, against_all, judge
from tripleshot.experiments.paper.main_table import NAMES, OTHERS, PRINTED_ROWS, UNTRAINED
from tripleshot.experiments.paper.report import NONE, PRINTED, Claim, Missing, Picture, Report, Table
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
from tripleshot.experiments.published import METRICS

LEARNED = (*PRINTED_ROWS, *OTHERS)
KEY = "long_tail"


def long_tail_report(material: Material, shots: int = 5) -> Report:
    """Lay out the methods, then RSCL and its variants, which were trained under conditions of their own."""
    beside = {row["method"]: row for row in printed(KEY, material.dataset.name)}
    methods = {label: label for label in (*UNTRAINED, *LEARNED)}
    tables = (
        _table("methods", methods, material.main, shots, beside),
        _table("RSCL and its variants, in equal time", VARIANT_ROWS, material.studies, shots, beside),
    )
    claims = (*_method_claims(material.main, shots), *_variant_claims(material.studies, shots))
    return Report(
        "long-tail",
        "Long-tail entities",
        (
            "Only the queries whose head or tail has fewer than ten distinct neighbors in the background, counted in "
            "both directions; support and candidates stay as they are. The paper does not say what its subset leaves "
            "out beside queries, so its figures need not be about the same.",
        ),
        tuple(table for table in tables if table.rows),
        tuple(_pictures(material, shots, beside)),
        claims,
        _missing(material, shots),
        {label: _metrics(material.main.of(label, shots)) for label in methods if material.main.of(label, shots)}
        | {
            f"studies: {k}": _metrics(material.studies.of(k, shots))
            for k in VARIANT_ROWS
            if material.studies.of(k, shots)
        },
    )


def _table(title: str, names: Mapping[str, str], results: Results, shots: int, beside: Mapping[str, Any]) -> Table:
    headings = ("method", *(heading for name in NAMES for heading in (name, PRINTED)), "queries")
    rows = []
    for label, name in names.items():
        found = results.of(label, shots)
        if found or label in beside:
            cells = [name]
            for metric in METRICS:
                theirs = beside.get(label, {}).get(metric)
                cells += [figure(found, KEY, "micro", metric), printed_figure(theirs)]
            rows.append((*cells, f"{found[0][KEY]['queries']:,}" if found else NONE))
    notes = notes_on(results.of(label, shots) for label in names)
    return Table(title, headings, tuple(rows), notes).without_empty()


def _mrr(results: Results, label: str, shots: int) -> float | None:
    return average(results.of(label, shots), KEY, "micro", "mrr")


def _metrics(results: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    return {metric: average(results, KEY, "micro", metric) for metric in METRICS}


def _pictures(material: Material, shots: int, beside: Mapping[str, Any]) -> list[Picture]:
    shown = {label: _mrr(material.main, label, shots) for label in (*UNTRAINED, *LEARNED)}
    shown |= {label: _mrr(material.studies, label, shots) for label in VARIANT_ROWS if label != "rscl"}
    shown = {label: value for label, value in shown.items() if value is not None}
    if not shown:
        return []
    series = {"here": list(shown.values()), PRINTED: [beside.get(label, {}).get("mrr") for label in shown]}
    series = {name: values for name, values in series.items() if any(value is not None for value in values)}
    drawn = draw_rows(tuple(shown), series, {"here": OURS, PRINTED: THEIRS}, "test MRR on long-tail queries")
    return [Picture("long-tail", f"Test MRR on the long-tail queries, {shots}-shot.", lambda path: save(drawn, path))]


def _method_claims(results: Results, shots: int) -> list[Claim]:
    ours = _mrr(results, "rscl", shots)
    rivals = [label for label in PRINTED_ROWS if label != "rscl"]
    contest = against_all(f"{shots}-shot", ours, {label: _mrr(results, label, shots) for label in rivals})
    return [judge("On the long tail RSCL is above every other method of the paper.", [contest])]


def _variant_claims(results: Results, shots: int) -> list[Claim]:
    values = {label: _mrr(results, label, shots) for label in VARIANT_ROWS}
    parts = [label for label in VARIANT_ROWS if label != "rscl"]
    worst = "rscl@without-global"
    return [
        judge(
            "On the long tail the full model is above its three variants.",
            [Contest(label, values["rscl"], values[label]) for label in parts],
        ),
        judge(
            "On the long tail RSCL without the global encoder is the worst of the three.",
            [Contest(label, values[label], values[worst]) for label in parts if label != worst],
        ),
    ]


def _missing(material: Material, shots: int) -> tuple[Missing, ...]:
    return (
        *missing(material.main, [(label, shots) for label in LEARNED], "main", material.words),
        *missing(material.studies, [(label, shots) for label in VARIANT_ROWS], "ablation", material.words),
    )
