"""One look for all figures: colors that every eye tells apart, light paper, names beside their points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tripleshot.atomic import write_file
from tripleshot.errors import TripleshotError

# Okabe and Ito's colors; beyond them line and marker change as well.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = (("-", "o"), ("--", "s"), (":", "^"))
INK = "#222222"
PALE = "#777777"
FONT = 8


@dataclass(frozen=True)
class Look:
    """How one series is drawn; what the paper prints is hollow."""

    color: str
    line: str
    marker: str
    is_hollow: bool = False


OURS = Look(COLORS[0], "-", "o")
THEIRS = Look(PALE, "--", "D", is_hollow=True)


def look(number: int) -> Look:
    """Return the look of a series by its number."""
    line, marker = STYLES[number // len(COLORS) % len(STYLES)]
    return Look(COLORS[number % len(COLORS)], line, marker)


def finish(axes: Axes, x_label: str, y_label: str) -> None:
    """Label the axes and take away what says nothing."""
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix decides the format. The same figure gives the same bytes."""
    content = BytesIO()
    kind = path.suffix.lower().removeprefix(".")
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    try:
        figure.savefig(content, format=kind or None, dpi=160, metadata=metadata)
    except ValueError as error:
        raise TripleshotError(f"{path}: the figure cannot be written: {error}") from None
    write_file(path, content.getvalue())


def draw_rows(
    names: Sequence[str], series: Mapping[str, Sequence[float | None]], looks: Mapping[str, Look], x_label: str
) -> Figure:
    """Draw a row for each name, the first on top, with a point for each series that has a value there."""
    figure = Figure(figsize=(7.2, 1.15 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    places = range(len(names))
    for place in places:
        there = [value for values in series.values() if (value := values[place]) is not None]
        if len(there) > 1 and len(series) == 2:
            axes.plot([min(there), max(there)], [place, place], color="#c8c8c8", linewidth=1.4, zorder=1)
    for name, values in series.items():
        found = [(value, place) for place, value in zip(places, values, strict=True) if value is not None]
        shown = looks[name]
        xs, ys = [x for x, _ in found], [y for _, y in found]
        face = "none" if shown.is_hollow else shown.color
        axes.scatter(xs, ys, s=34, c=face, edgecolors=shown.color, marker=shown.marker, zorder=3, label=name)
    axes.set_yticks(places, names, fontsize=FONT + 0.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(left=0)
    finish(axes, x_label, "")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper right", ncols=len(series), fontsize=FONT, frameon=False)
    return figure


def draw_lines(
    series: Mapping[str, Sequence[tuple[float, float]]], looks: Mapping[str, Look], x_label: str, y_label: str
) -> Figure:
    """Draw a line through the points of each series, with a legend beside it."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, points in series.items():
        shown = looks[name]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, shown.line, color=shown.color, marker=shown.marker, markersize=5, linewidth=1.5, label=name)
    axes.set_ylim(bottom=0)
    finish(axes, x_label, y_label)
    figure.legend(loc="outside upper right", ncols=len(series), fontsize=FONT, frameon=False)
    return figure
