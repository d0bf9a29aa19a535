"""Figures of comparisons and of the paper: one style for all, with colors that color-blind readers can tell apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.statistics import neighbor_histogram
from tripleshot.errors import InputError
from tripleshot.experiments.comparison_table import Comparison, Row, training_seconds
from tripleshot.files.atomic import write_figure

# The palette of Okabe and Ito; series beyond its seven colors differ in line and marker.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = (("-", "o"), ("--", "s"), (":", "^"))
INK = "#222222"
GRAY = "#777777"
FONT_SIZE = 8
LETTER_WIDTH, USUAL_NAME = 0.065, 16  # inches; letters of a name that the panels have room for
LABEL_GAP = 0.045  # of the height of a panel, between two labels


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn; values printed in the paper have hollow markers."""

    color: str
    line: str
    marker: str
    is_hollow: bool = False


MEASURED_STYLE = SeriesStyle(COLORS[0], "-", "o")
PRINTED_STYLE = SeriesStyle(GRAY, "--", "D", is_hollow=True)


@dataclass(frozen=True)
class PointLabel:
    """The name of a point, with the place and color of the point."""

    text: str
    x: float
    y: float
    color: str


def series_style(number: int) -> SeriesStyle:
    """Return the style of the series with this number."""
    line, marker = STYLES[number // len(COLORS) % len(STYLES)]
    return SeriesStyle(COLORS[number % len(COLORS)], line, marker)


def label_axes(axes: Axes, x_label: str, y_label: str) -> None:
    """Label the axes and draw a light grid instead of a full frame."""
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_dot_plot(
    names: Sequence[str], series: Mapping[str, Sequence[float | None]], styles: Mapping[str, SeriesStyle], x_label: str
) -> Figure:
    """Draw one row per name, the first at the top, with a point for each series that has a value in it."""
    figure = Figure(figsize=(7.2, 1.15 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    rows = range(len(names))
    for row in rows:
        known = [value for values in series.values() if (value := values[row]) is not None]
        if len(known) > 1 and len(series) == 2:
            axes.plot([min(known), max(known)], [row, row], color="#c8c8c8", linewidth=1.4, zorder=1)
    for name, values in series.items():
        points = [(value, row) for row, value in zip(rows, values, strict=True) if value is not None]
        style = styles[name]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        face = "none" if style.is_hollow else style.color
        axes.scatter(xs, ys, s=34, c=face, edgecolors=style.color, marker=style.marker, zorder=3, label=name)
    axes.set_yticks(rows, names, fontsize=FONT_SIZE + 0.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(left=0)
    label_axes(axes, x_label, "")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper right", ncols=len(series), fontsize=FONT_SIZE, frameon=False)
    return figure


def draw_line_plot(
    series: Mapping[str, Sequence[tuple[float, float]]], styles: Mapping[str, SeriesStyle], x_label: str, y_label: str
) -> Figure:
    """Draw a line through the points of each series, with a legend above."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, points in series.items():
        style = styles[name]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, style.line, color=style.color, marker=style.marker, markersize=5, linewidth=1.5, label=name)
    axes.set_ylim(bottom=0)
    label_axes(axes, x_label, y_label)
    figure.legend(loc="outside upper right", ncols=len(series), fontsize=FONT_SIZE, frameon=False)
    return figure


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draw test MRR against training time and, if there are any, the learning curves on dev."""
    trained = [row for row in comparison.rows if row.seconds]
    styles = {row.method: series_style(number) for number, row in enumerate(trained)}
    has_curves = any(_curves(row) for row in trained)
    height = max(3.6, 0.6 + 0.21 * len(comparison.rows))
    extra_width = LETTER_WIDTH * max(0, max(len(row.method) for row in comparison.rows) - USUAL_NAME)
    width = 10.5 + 2 * extra_width if has_curves else 5.6 + extra_width
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(1, 2 if has_curves else 1, squeeze=False)[0]
    _draw_test(panels[0], comparison, styles)
    if has_curves:
        _draw_dev(panels[1], trained, styles)
    figure.suptitle(f"{comparison.dataset}, {comparison.shots}-shot", fontsize=11)
    write_figure(figure, path)


def _draw_test(axes: Axes, comparison: Comparison, styles: dict[str, SeriesStyle]) -> None:
    """Draw one point per method; methods without training are at 0 seconds."""
    untrained, trained = [], []
    for row in comparison.rows:
        style = styles.get(row.method, SeriesStyle(GRAY, "", "D"))
        x, y = row.seconds, row.metric("mrr")
        axes.scatter(x, y, s=34, color=style.color, marker=style.marker, linewidths=0, zorder=3)
        (trained if row.seconds else untrained).append(PointLabel(row.method, x, y, style.color))
    longest = max((row.seconds for row in comparison.rows), default=0.0) or 1.0
    axes.set_xlim(-0.05 * longest, 1.06 * longest)
    axes.set_ylim(0, 1.12 * max(row.metric("mrr") for row in comparison.rows) + 0.01)
    write_labels(axes, untrained, 0.07 * longest)
    write_labels(axes, trained, 1.15 * longest)
    label_axes(axes, "seconds of training, validations included", f"{comparison.split} MRR")


def _draw_dev(axes: Axes, trained: Sequence[Row], styles: dict[str, SeriesStyle]) -> None:
    """Draw dev MRR over time, one line per seed, with the name at the end of the first."""
    labels = []
    for row in trained:
        style = styles[row.method]
        for curve in _curves(row):
            times, values = [training_seconds(point) for point in curve], [point["valid_mrr"] for point in curve]
            axes.plot(times, values, style.line, color=style.color, marker=style.marker, markersize=3.5, linewidth=1.3)
        if curves := _curves(row):
            last = curves[0][-1]
            labels.append(PointLabel(row.method, training_seconds(last), last["valid_mrr"], style.color))
    longest = max(label.x for label in labels)
    highest = max(point["valid_mrr"] for row in trained for curve in _curves(row) for point in curve)
    axes.set_xlim(0, 1.06 * longest)
    axes.set_ylim(0, 1.12 * highest + 0.01)
    write_labels(axes, labels, 1.15 * longest)
    label_axes(axes, "seconds of training, validations included", "dev MRR")


def _curves(row: Row) -> list[list[dict[str, Any]]]:
    curves = [result.get("training", {}).get("curve", []) for result in row.results]
    return [curve for curve in curves if curve]


def write_labels(axes: Axes, labels: Sequence[PointLabel], x: float) -> None:
    """Write the names of points in one column, in the order of the points, with a thin line to each."""
    ordered = sorted(labels, key=lambda label: label.y)
    low, high = axes.get_ylim()
    height = high - low
    places = spread_out([label.y for label in ordered], LABEL_GAP * height, low + 0.02 * height, high)
    for label, y in zip(ordered, places, strict=True):
        line = {"arrowstyle": "-", "color": label.color, "linewidth": 0.8, "linestyle": ":", "alpha": 0.7}
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(x, y),
            fontsize=FONT_SIZE,
            color=INK,
            va="center",
            annotation_clip=False,
            arrowprops={**line, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)},
        )


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places at least `gap` apart that are as close as possible to the wanted ones, which ascend.

    Without the gaps this is isotonic regression: neighbors in the wrong order are averaged until none is left. Where
    there is not enough room between the bounds, the upper one gives way.
    """
    blocks: list[list[float]] = []
    for number, place in enumerate(wanted):
        blocks.append([place - number * gap])
        while len(blocks) > 1 and mean(blocks[-2]) > mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    level = [mean(block) for block in blocks for _ in block]
    highest = max(low, high - (len(level) - 1) * gap)
    return [min(max(place, low), highest) + number * gap for number, place in enumerate(level)]


def draw_neighbor_histogram(dataset: FewShotDataset, path: Path) -> None:
    """Draw how many entities have how many direct neighbors, on logarithmic axes (the paper's figure 1)."""
    neighbors, entities = neighbor_histogram(dataset.graph)
    if not len(neighbors):
        raise InputError(f"{dataset.name} has no background edges to draw")
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.scatter(neighbors, entities, s=14, color=COLORS[0], alpha=0.75, linewidths=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(dataset.name)
    label_axes(axes, "direct neighbors of an entity", "number of entities")
    share = entities[neighbors == 1].sum() / np.sum(entities)
    axes.annotate(
        f"{share:.1%} of connected entities\nhave a single direct neighbor",
        xy=(1, max(entities[0], 1)),
        xytext=(0.97, 0.95),
        textcoords="axes fraction",
        ha="right",
        va="top",
        fontsize=9,
    )
    write_figure(figure, path)
