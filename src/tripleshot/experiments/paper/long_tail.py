"""The paper's long-tail table: queries whose head or tail has fewer than ten direct neighbors."""

from collections.abc import Mapping, Sequence
from typing import Any

from tripleshot.experiments.figures import MEASURED_STYLE, PRINTED_STYLE, draw_dot_plot
from tripleshot.experiments.paper.ablation import ROWS as VARIANT_ROWS
from tripleshot.experiments.paper.main_table import NAMES, OTHERS, PRINTED_ROWS, UNTRAINED
from tripleshot.experiments.paper.report import (
    NONE,
    PRINTED,
    Claim,
    Inequality,
    Missing,
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
    format_mean,
    result_notes,
    seed_mean,
)
from tripleshot.experiments.paper.values import printed_rows
from tripleshot.experiments.published import METRICS
from tripleshot.files.atomic import write_figure

LEARNED = (*PRINTED_ROWS, *OTHERS)
KEY = "long_tail"


def long_tail_report(collected: PaperResults, shots: int = 5) -> Report:
    """Make one table of the methods, and one of RSCL and its variants, which were trained under other conditions."""
    printed = {row["method"]: row for row in printed_rows(KEY, collected.dataset.name)}
    methods = {label: label for label in (*UNTRAINED, *LEARNED)}
    tables = (
        _table("methods", methods, collected.main, shots, printed),
        _table("RSCL and its variants, in equal time", VARIANT_ROWS, collected.studies, shots, printed),
    )
    claims = (*_method_claims(collected.main, shots), *_variant_claims(collected.studies, shots))
    return Report(
        "long-tail",
        "Long-tail entities",
        (
            "Only the queries whose head or tail has fewer than ten distinct neighbors in the background, counted in "
            "both directions; support and candidates stay as they are. The paper does not say what its subset leaves "
            "out besides queries, so its values may be about another subset.",
        ),
        tuple(table for table in tables if table.rows),
        tuple(_pictures(collected, shots, printed)),
        claims,
        _missing(collected, shots),
        {label: _metrics(collected.main.of(label, shots)) for label in methods if collected.main.of(label, shots)}
        | {
            f"studies: {k}": _metrics(collected.studies.of(k, shots))
            for k in VARIANT_ROWS
            if collected.studies.of(k, shots)
        },
    )


def _table(title: str, names: Mapping[str, str], results: Results, shots: int, printed: Mapping[str, Any]) -> Table:
    headings = ("method", *(heading for name in NAMES for heading in (name, PRINTED)), "queries")
    rows = []
    for label, name in names.items():
        found = results.of(label, shots)
        if found or label in printed:
            cells = [name]
            for metric in METRICS:
                theirs = printed.get(label, {}).get(metric)
                cells += [format_mean(found, KEY, "micro", metric), format_value(theirs)]
            rows.append((*cells, f"{found[0][KEY]['queries']:,}" if found else NONE))
    notes = result_notes(results.of(label, shots) for label in names)
    return Table(title, headings, tuple(rows), notes).without_empty()


def _mrr(results: Results, label: str, shots: int) -> float | None:
    return seed_mean(results.of(label, shots), KEY, "micro", "mrr")


def _metrics(results: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    return {metric: seed_mean(results, KEY, "micro", metric) for metric in METRICS}


def _pictures(collected: PaperResults, shots: int, printed: Mapping[str, Any]) -> list[Picture]:
    shown = {label: _mrr(collected.main, label, shots) for label in (*UNTRAINED, *LEARNED)}
    shown |= {label: _mrr(collected.studies, label, shots) for label in VARIANT_ROWS if label != "rscl"}
    shown = {label: value for label, value in shown.items() if value is not None}
    if not shown:
        return []
    series = {"here": list(shown.values()), PRINTED: [printed.get(label, {}).get("mrr") for label in shown]}
    series = {name: values for name, values in series.items() if any(value is not None for value in values)}
    drawn = draw_dot_plot(
        tuple(shown), series, {"here": MEASURED_STYLE, PRINTED: PRINTED_STYLE}, "test MRR on long-tail queries"
    )
    return [
        Picture(
            "long-tail", f"Test MRR on the long-tail queries, {shots}-shot.", lambda path: write_figure(drawn, path)
        )
    ]


def _method_claims(results: Results, shots: int) -> list[Claim]:
    ours = _mrr(results, "rscl", shots)
    rivals = [label for label in PRINTED_ROWS if label != "rscl"]
    inequality = against_best(f"{shots}-shot", ours, {label: _mrr(results, label, shots) for label in rivals})
    return [check_claim("On the long tail RSCL is above every other method of the paper.", [inequality])]


def _variant_claims(results: Results, shots: int) -> list[Claim]:
    values = {label: _mrr(results, label, shots) for label in VARIANT_ROWS}
    parts = [label for label in VARIANT_ROWS if label != "rscl"]
    worst = "rscl@without-global"
    return [
        check_claim(
            "On the long tail the full model is above its three variants.",
            [Inequality(label, values["rscl"], values[label]) for label in parts],
        ),
        check_claim(
            "On the long tail RSCL without the global encoder is the worst of the three.",
            [Inequality(label, values[label], values[worst]) for label in parts if label != worst],
        ),
    ]


def _missing(collected: PaperResults, shots: int) -> tuple[Missing, ...]:
    return (
        *find_missing(collected.main, [(label, shots) for label in LEARNED], "main", collected.arguments),
        *find_missing(collected.studies, [(label, shots) for label in VARIANT_ROWS], "ablation", collected.arguments),
    )
