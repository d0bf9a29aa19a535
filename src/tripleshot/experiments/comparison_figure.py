"""Quality against training time: what every method reached on test, and how it came there on dev."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tripleshot.experiments.comparison_table import Comparison, Row, seconds_in
from tripleshot.experiments.figures import FONT, INK, Look, finish, look, save

UNTRAINED = "#777777"
LETTER, USUAL_NAME = 0.065, 16  # inches; letters of a name that the panels have room for
GAP = 0.045  # of the height of a panel, between two labels


@dataclass(frozen=True)
class Label:
    """A name that belongs to a point."""

    text: str
    x: float
    y: float
    color: str


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draw test MRR against training time, and the dev curves where there are any; the suffix decides."""
    trained = [row for row in comparison.rows if row.seconds]
    looks = {row.method: look(number) for number, row in enumerate(trained)}
    has_curves = any(_curves(row) for row in trained)
    height = max(3.6, 0.6 + 0.21 * len(comparison.rows))
    names = LETTER * max(0, max(len(row.method) for row in comparison.rows) - USUAL_NAME)
    figure = Figure(figsize=((10.5 + 2 * names) if has_curves else (5.6 + names), height), layout="constrained")
    panels = figure.subplots(1, 2 if has_curves else 1, squeeze=False)[0]
    _draw_test(panels[0], comparison, looks)
    if has_curves:
        _draw_dev(panels[1], trained, looks)
    figure.suptitle(f"{comparison.dataset}, {comparison.shots}-shot", fontsize=11)
    save(figure, path)


def _draw_test(axes: Axes, comparison: Comparison, looks: dict[str, Look]) -> None:
    """Draw a point for each method; those that do not learn stand at 0."""
    untrained, trained = [], []
    for row in comparison.rows:
        shown = looks.get(row.method, Look(UNTRAINED, "", "D"))
        x, y = row.seconds, row.metric("mrr")
        axes.scatter(x, y, s=34, color=shown.color, marker=shown.marker, linewidths=0, zorder=3)
        (trained if row.seconds else untrained).append(Label(row.method, x, y, shown.color))
    longest = max((row.seconds for row in comparison.rows), default=0.0) or 1.0
    axes.set_xlim(-0.05 * longest, 1.06 * longest)
    axes.set_ylim(0, 1.12 * max(row.metric("mrr") for row in comparison.rows) + 0.01)
    write_labels(axes, untrained, 0.07 * longest)
    write_labels(axes, trained, 1.15 * longest)
    finish(axes, "seconds of training, validations included", f"{comparison.split} MRR")


def _draw_dev(axes: Axes, trained: Sequence[Row], looks: dict[str, Look]) -> None:
    """Draw dev MRR over time, a line for each seed, the name at the end of the first."""
    labels = []
    for row in trained:
        shown = looks[row.method]
        for curve in _curves(row):
            times, values = [seconds_in(point) for point in curve], [point["valid_mrr"] for point in curve]
            axes.plot(times, values, shown.line, color=shown.color, marker=shown.marker, markersize=3.5, linewidth=1.3)
        if curves := _curves(row):
            last = curves[0][-1]
            labels.append(Label(row.method, seconds_in(last), last["valid_mrr"], shown.color))
    longest = max(label.x for label in labels)
    highest = max(point["valid_mrr"] for row in trained for curve in _curves(row) for point in curve)
    axes.set_xlim(0, 1.06 * longest)
    axes.set_ylim(0, 1.12 * highest + 0.01)
    write_labels(axes, labels, 1.15 * longest)
    finish(axes, "seconds of training, validations included", "dev MRR")


def _curves(row: Row) -> list[list[dict[str, Any]]]:
    curves = [result.get("training", {}).get("curve", []) for result in row.results]
    return [curve for curve in curves if curve]


def write_labels(axes: Axes, labels: Sequence[Label], x: float) -> None:
    """Write names in one column, in the order of their points and never over each other, with a thin line to each."""
    ordered = sorted(labels, key=lambda label: label.y)
    low, high = axes.get_ylim()
    places = spread_out([label.y for label in ordered], GAP * (high - low), low + 0.02 * (high - low), high)
    for label, y in zip(ordered, places, strict=True):
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(x, y),
            fontsize=FONT,
            color=INK,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": label.color,
                "linewidth": 0.8,
                "linestyle": ":",
                "alpha": 0.7,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places at least `gap` apart and as near to the wanted ones, which ascend, as can be.

    Without the gaps this is a regression by an ascending line of steps: neighbors in the wrong order are averaged
    until none is left. Where there is not enough room between the bounds, the upper one gives way.
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
