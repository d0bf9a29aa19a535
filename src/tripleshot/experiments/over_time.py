"""MRR against the training budget: the test MRR of every method after, for example, 1, 5 and 30 minutes of training.

Each budget is a training of its own, because learning rates follow the budget: a short training ends differently from
the first minutes of a long one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tripleshot.experiments.comparison_table import Comparison, Row, format_metric
from tripleshot.experiments.figures import GRAY, PointLabel, label_axes, series_style, write_labels
from tripleshot.files.atomic import write_figure
from tripleshot.training.budget import write_budget


def over_time_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return the MRR of each method with each budget, the longest budget last, as a JSON document."""
    last = comparisons[-1]
    return {
        "dataset": last.dataset,
        "shots": last.shots,
        "split": last.split,
        "budgets": [comparison.budget for comparison in comparisons],
        "rows": [_row_document(row, comparisons) for row in last.rows],
    }


def _row_document(row: Row, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    reached = [] if not row.seconds else [(each.budget, _row_of(row.method, each)) for each in comparisons]
    points = [
        {"budget": budget, "spent": found.seconds, "mrr": found.metric("mrr"), "commits": _commits(found)}
        for budget, found in reached
    ]
    return {"method": row.method, "seeds": len(row.results), **({"points": points} if points else _untrained(row))}


def _untrained(row: Row) -> dict[str, Any]:
    return {"mrr": row.metric("mrr"), "commits": _commits(row)}


def _commits(row: Row) -> list[str]:
    return sorted({result.get("training", result).get("commit") or "" for result in row.results})


def _row_of(method: str, comparison: Comparison) -> Row:
    return next(row for row in comparison.rows if row.method == method)


def over_time_table(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """Return the cells of the table, headings first: one column per budget, and one for methods without training."""
    headings = ["method", "untrained", *(write_budget(each.budget) for each in comparisons)]
    return [headings, *([row.method, *_cells(row, comparisons)] for row in comparisons[-1].rows)]


def over_time_markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the table as Markdown."""
    headings, *rows = over_time_table(comparisons)
    lines = [headings, ["---"] * len(headings), *([f"`{method}`", *figures] for method, *figures in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row, comparisons: Sequence[Comparison]) -> list[str]:
    if not row.seconds:
        return [format_metric(row.metric("mrr")), *("" for _ in comparisons)]
    return ["", *(format_metric(_row_of(row.method, each).metric("mrr")) for each in comparisons)]


def draw_over_time(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw MRR over minutes of training, one line per method; methods without training are horizontal lines."""
    last = comparisons[-1]
    figure = Figure(figsize=(6.8, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlim(0.8 * comparisons[0].budget / 60, 1.15 * last.budget / 60)
    axes.set_ylim(0, 1.12 * max(row.metric("mrr") for each in comparisons for row in each.rows))
    trained = [row for row in last.rows if row.seconds]
    labels = [_draw_line(axes, row.method, comparisons, number) for number, row in enumerate(trained)]
    labels += [_draw_horizontal(axes, row, last.budget / 60) for row in last.rows if not row.seconds]
    write_labels(axes, labels, 1.3 * last.budget / 60)
    minutes = [each.budget / 60 for each in comparisons]
    axes.set_xticks(minutes, [f"{value:g}" for value in minutes])
    axes.minorticks_off()
    label_axes(axes, "minutes of training, validations included", f"{last.split} MRR")
    figure.suptitle(f"{last.dataset}, {last.shots}-shot", fontsize=11)
    write_figure(figure, path)


def _draw_line(axes: Axes, method: str, comparisons: Sequence[Comparison], number: int) -> PointLabel:
    style = series_style(number)
    minutes = [each.budget / 60 for each in comparisons]
    reached = [_row_of(method, each).metric("mrr") for each in comparisons]
    axes.plot(minutes, reached, style.line, color=style.color, marker=style.marker, markersize=5, linewidth=1.5)
    return PointLabel(method, minutes[-1], reached[-1], style.color)


def _draw_horizontal(axes: Axes, row: Row, end: float) -> PointLabel:
    value = row.metric("mrr")
    axes.axhline(value, color=GRAY, linestyle=(0, (1, 2)), linewidth=1.2)
    return PointLabel(f"{row.method} (untrained)", end, value, GRAY)
