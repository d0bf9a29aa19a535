"""The table of a comparison: the metrics of every method, next to those published for it on the same dataset."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import pyarrow as pa

from tripleshot.datasets.dataset import Split
from tripleshot.evaluation.results import Result
from tripleshot.experiments.published import METRICS, Published, published_for
from tripleshot.experiments.variants import Variant, variant_of
from tripleshot.tables import Tabular
from tripleshot.training.budget import MIN_STEPS

FAR_BEHIND = 0.03  # MRR below the published one that is worth a look at the learning curve
SPREAD = " ±"  # between a mean over seeds and its standard deviation
HEADINGS = ("method", "MRR", "Hits@10", "Hits@5", "Hits@1", "training", "answers/s", "weights", "")


@dataclass(frozen=True, eq=False)
class Row:
    """One method of a comparison.

    Attributes:
        method: its name in the table of methods, with its variant.
        results: one per seed.
        published: published rows about this method, on the same dataset with the same number of examples.
    """

    method: str
    results: tuple[Result, ...]
    published: tuple[Published, ...]

    def metric(self, name: str) -> float:
        """Return a micro metric, averaged over seeds."""
        return mean(result["micro"][name] for result in self.results)

    def spread(self, name: str) -> float | None:
        """Return the standard deviation of a metric over seeds; None for a single seed."""
        return stdev(result["micro"][name] for result in self.results) if len(self.results) > 1 else None

    @property
    def seconds(self) -> float:
        """Seconds of training, averaged over seeds; 0 for a method without training."""
        return mean(training_seconds(result["training"]) if "training" in result else 0.0 for result in self.results)

    @property
    def answers_per_second(self) -> float:
        """Queries ranked per second, averaged over seeds."""
        return mean(result["queries"] / max(result["seconds"], 1e-3) for result in self.results)

    @property
    def few_steps(self) -> int | None:
        """The steps of its shortest stage, if they are too few to learn from; None otherwise."""
        steps = [count for one in self.results for count in one.get("training", {}).get("steps", {}).values()]
        return min(steps) if steps and min(steps) < MIN_STEPS else None

    @property
    def parameters(self) -> int:
        """The number of trained weights."""
        return self.results[0].get("training", {}).get("parameters", 0)

    @property
    def pretrained(self) -> dict[str, Any] | None:
        """The method whose vectors it started from, and the seconds that their training took in addition."""
        return self.results[0].get("training", {}).get("pretrained")

    @property
    def published_mrr(self) -> float | None:
        """The highest comparable published MRR; None if none is published."""
        return max((one.metrics["mrr"] for one in self.published if one.is_comparable), default=None)

    @property
    def behind(self) -> float | None:
        """MRR below the highest comparable published one; None if none is published, negative if above it."""
        return None if self.published_mrr is None else self.published_mrr - self.metric("mrr")

    @property
    def is_far_behind(self) -> bool:
        """The published MRR is missed by more than `FAR_BEHIND`."""
        return self.behind is not None and self.behind > FAR_BEHIND


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """All methods on one dataset with one number of examples; it prints as a table.

    Attributes:
        dataset: its name in the catalog.
        shots: K, the number of examples per relation.
        budget: seconds of training that each method was given.
        rows: one per method.
        other_published: published rows about this dataset whose method is not compared here.
        split: the tasks whose queries were ranked; published metrics are those on test.
    """

    dataset: str
    shots: int
    budget: float
    rows: tuple[Row, ...]
    other_published: tuple[Published, ...]
    split: Split = "test"

    @property
    def title(self) -> str:
        """What was asked, and how long each method was trained."""
        asked = f"{self.dataset} {self.split}, {self.shots}-shot"
        return f"{asked}, at most {self.budget:,.0f} s of training"

    def __str__(self) -> str:
        layout = lay_out(self)
        lines = [HEADINGS, *(line.cells for line in layout.lines)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = (
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:-1], widths[1:-1]), cells[-1]]).rstrip()
            for cells in lines
        )
        return "\n".join([self.title, *rows, *(f"[{number}] {note}" for number, note in enumerate(layout.notes, 1))])

    def to_html(self) -> str:
        """Return the table as a notebook shows it, with a bar for each MRR."""
        from tripleshot.experiments.comparison_html import comparison_html  # it lays comparisons out

        return comparison_html(self)

    def to_arrow(self) -> pa.Table:
        """Return one row per method.

        The columns are `method`; `mrr`, `hits@10`, `hits@5` and `hits@1`, means over seeds; `mrr_deviation`, their
        standard deviation over seeds; `seeds`; `seconds` of training; `answers_per_second`; `weights`, how many numbers
        were learned; and `published_mrr`, the highest published one that is comparable.
        """
        rows = self.rows
        return pa.table(
            {
                "method": [row.method for row in rows],
                **{name: [row.metric(name) for row in rows] for name in METRICS},
                "mrr_deviation": pa.array([row.spread("mrr") for row in rows], pa.float64()),
                "seeds": [len(row.results) for row in rows],
                "seconds": [row.seconds for row in rows],
                "answers_per_second": [row.answers_per_second for row in rows],
                "weights": [row.parameters for row in rows],
                "published_mrr": pa.array([row.published_mrr for row in rows], pa.float64()),
            }
        )


def make_comparison(
    results: Iterable[Result], dataset: str, shots: int, budget: float, split: Split = "test"
) -> Comparison:
    """Group the results with one number of examples by method, and add what is published about this dataset."""
    by_method: dict[str, list[Result]] = {}
    for result in results:
        by_method.setdefault(label_of(result), []).append(result)
    published = published_for(dataset, shots) if split == "test" else ()
    rows = []
    for method, found in by_method.items():
        rows.append(Row(method, tuple(found), tuple(one for one in published if one.label == method)))
    other_published = tuple(one for one in published if one.label not in by_method)
    return Comparison(dataset, shots, budget, tuple(rows), other_published, split)


def label_of(result: Result) -> str:
    """Return the method of a result with its variant, which the result names or else its settings tell."""
    if "variant" in result:
        return str(Variant(result["method"], result["variant"]))
    return str(variant_of(result["method"], result["config"]))


def training_seconds(training: dict[str, Any]) -> float:
    """Return the seconds that a training had taken at its end, or at a point of its learning curve.

    With a budget everything that it covers is included; without one, only steps were timed.
    """
    return training["spent"] if "spent" in training else training["seconds"]


@dataclass(frozen=True)
class Line:
    """A line of the table as text: one cell per heading in `HEADINGS`."""

    cells: tuple[str, ...]
    is_published: bool


@dataclass(frozen=True)
class Layout:
    """A table as text, with numbered notes that its last column refers to."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def lay_out(comparison: Comparison) -> Layout:
    """Lay out each method followed by its published rows, and the other published rows at the end."""
    notes: dict[str, int] = {}
    lines = []
    for row in comparison.rows:
        lines.append(Line(_cells(row), is_published=False))
        lines += [Line(_published_cells(published, notes), is_published=True) for published in row.published]
    lines += [Line(_published_cells(published, notes), is_published=True) for published in comparison.other_published]
    return Layout(tuple(lines), tuple(notes))


def as_markdown(comparison: Comparison) -> str:
    """Return the table as Markdown, published rows in italics."""
    layout = lay_out(comparison)
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for line in layout.lines:
        name = f"*{line.cells[0]}*" if line.is_published else f"`{line.cells[0]}`"
        lines.append(f"| {' | '.join((name, *line.cells[1:]))} |")
    lines += ["", *(f"[{number}] {note}.  " for number, note in enumerate(layout.notes, 1))] if layout.notes else []
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    remarks = [f"{format_metric(row.behind)} below published"] if row.behind is not None and row.is_far_behind else []
    if row.pretrained:
        remarks.append(f"starts from {row.pretrained['method']}, {row.pretrained['spent']:,.0f} s more")
    if row.few_steps is not None:
        remarks.append(f"hardly trained: {row.few_steps} steps")
    if len(row.results) > 1:
        remarks.append(f"{len(row.results)} seeds")
    metrics = [_with_spread(row.metric(name), row.spread(name)) for name in METRICS]
    seconds = f"{row.seconds:,.0f} s" if row.seconds else "none"
    weights = _count(row.parameters) if row.parameters else ""
    return row.method, *metrics, seconds, _rate(row.answers_per_second), weights, "; ".join(remarks)


def _published_cells(published: Published, notes: dict[str, int]) -> tuple[str, ...]:
    metrics = [format_metric(published.metrics[name]) if name in published.metrics else "" for name in METRICS]
    remarks = [] if published.is_comparable else ["not comparable"]
    if published.note:
        remarks.append(f"[{notes.setdefault(published.note, len(notes) + 1)}]")
    return f"{published.name}, {published.source}", *metrics, "", "", "", " ".join(remarks)


def format_metric(value: float) -> str:
    """Write a metric with three decimals and without the zero before the point, as papers do."""
    return f"{value:.3f}".replace("0.", ".", 1)


def _count(number: int) -> str:
    return f"{number / 1e6:.2f} M" if number >= 1e5 else f"{number:,}"


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _with_spread(value: float, spread: float | None) -> str:
    return format_metric(value) if spread is None else f"{format_metric(value)}{SPREAD} {format_metric(spread)}"
