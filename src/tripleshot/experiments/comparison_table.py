"""The table of a comparison: what every method reached, beside what is published about it on the same dataset."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from tripleshot.datasets.dataset import Split
from tripleshot.experiments.published import METRICS, Published, published_for
from tripleshot.experiments.variants import Variant, variant_of

FAR_BEHIND = 0.03  # of MRR below the published figure: worth a look at the learning curve
SPREAD = " ±"  # between a mean over seeds and its standard deviation
HEADINGS = ("method", "MRR", "Hits@10", "Hits@5", "Hits@1", "training", "answers/s", "weights", "")


@dataclass(frozen=True, eq=False)
class Row:
    """What one method reached.

    Attributes:
        method: its name in the table of methods, with its variant.
        results: one document of `results.describe` for each seed.
        published: figures to be compared with.
    """

    method: str
    results: tuple[dict[str, Any], ...]
    published: tuple[Published, ...]

    def metric(self, name: str) -> float:
        """Return a micro metric, the mean over seeds."""
        return mean(result["micro"][name] for result in self.results)

    def spread(self, name: str) -> float | None:
        """Return the standard deviation of a metric over seeds; None of a single one."""
        return stdev(result["micro"][name] for result in self.results) if len(self.results) > 1 else None

    @property
    def seconds(self) -> float:
        """Seconds of training, the mean over seeds; 0 for what does not learn."""
        return mean(seconds_in(result["training"]) if "training" in result else 0.0 for result in self.results)

    @property
    def answers_per_second(self) -> float:
        """Queries ranked in a second, the mean over seeds."""
        return mean(result["queries"] / max(result["seconds"], 1e-3) for result in self.results)

    @property
    def parameters(self) -> int:
        """How many numbers it learned."""
        return self.results[0].get("training", {}).get("parameters", 0)

    @property
    def pretrained(self) -> dict[str, Any] | None:
        """The method whose vectors it started from, and the seconds that their training took beside."""
        return self.results[0].get("training", {}).get("pretrained")

    @property
    def behind(self) -> float | None:
        """MRR below the highest comparable published figure; None without one, negative above it."""
        figures = [row.metrics["mrr"] for row in self.published if row.is_comparable]
        return max(figures) - self.metric("mrr") if figures else None

    @property
    def is_far_behind(self) -> bool:
        """The published figure is not reached."""
        return self.behind is not None and self.behind > FAR_BEHIND


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on one dataset with one number of examples.

    Attributes:
        split: the tasks that they were asked about; published figures are about test.
        rows: one for each method.
        elsewhere: published figures on the same dataset that stand beside none of them.
    """

    dataset: str
    shots: int
    budget: float
    rows: tuple[Row, ...]
    elsewhere: tuple[Published, ...]
    split: Split = "test"


def compare(
    results: Iterable[dict[str, Any]], dataset: str, shots: int, budget: float, split: Split = "test"
) -> Comparison:
    """Put the results of one number of examples side by side, with the figures published for this dataset."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        by_method.setdefault(label_of(result), []).append(result)
    published = published_for(dataset, shots) if split == "test" else ()
    rows = []
    for method, found in by_method.items():
        beside = tuple(figure for figure in published if figure.label == method)
        rows.append(Row(method, tuple(found), beside))
    used = {id(figure) for row in rows for figure in row.published}
    elsewhere = tuple(row for row in published if id(row) not in used)
    return Comparison(dataset, shots, budget, tuple(rows), elsewhere, split)


def label_of(result: dict[str, Any]) -> str:
    """Return what was measured: a method, and its variant as the result or else its settings tell it."""
    if "variant" in result:
        return str(Variant(result["method"], result["variant"]))
    return str(variant_of(result["method"], result["config"]))


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a JSON document; each seed comes with its learning curve."""
    return {
        "dataset": comparison.dataset,
        "shots": comparison.shots,
        "split": comparison.split,
        "budget": comparison.budget,
        "rows": [_row_document(row) for row in comparison.rows],
        "published_elsewhere": [_published_document(figure) for figure in comparison.elsewhere],
    }


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "method": row.method,
        "micro": {name: row.metric(name) for name in METRICS},
        **({"spread": {name: row.spread(name) for name in METRICS}} if len(row.results) > 1 else {}),
        "seconds": row.seconds,
        "answers_per_second": row.answers_per_second,
        "parameters": row.parameters,
        **({"pretrained": row.pretrained} if row.pretrained else {}),
        "behind_published": row.behind,
        "is_far_behind": row.is_far_behind,
        "seeds": [
            {
                "seed": result["seed"],
                "micro": result["micro"],
                "config": result["config"],
                **{
                    key: result["training"][key]
                    for key in ("spent", "best", "curve")
                    if key in result.get("training", {})
                },
            }
            for result in row.results
        ],
        "published": [_published_document(figure) for figure in row.published],
    }


def _published_document(figure: Published) -> dict[str, Any]:
    return {
        "name": figure.name,
        "source": figure.source,
        "where": figure.where,
        **figure.metrics,
        "is_comparable": figure.is_comparable,
        **({"note": figure.note} if figure.note else {}),
    }


def seconds_in(training: dict[str, Any]) -> float:
    """Return what a training had taken at its end or at a point of its curve.

    Validations and checkpoints are included where there was a budget to be kept; otherwise only steps were counted.
    """
    return training["spent"] if "spent" in training else training["seconds"]


@dataclass(frozen=True)
class Line:
    """A line of the table, as text, one cell for each of the `HEADINGS`."""

    cells: tuple[str, ...]
    is_published: bool


@dataclass(frozen=True)
class Layout:
    """A table as text, with the notes that numbers in its last column point to."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def lay_out(comparison: Comparison) -> Layout:
    """Lay out each method with the figures published about it below, and the other published figures at the end."""
    notes: dict[str, int] = {}
    lines = []
    for row in comparison.rows:
        lines.append(Line(_cells(row), is_published=False))
        lines += [Line(_published_cells(figure, notes), is_published=True) for figure in row.published]
    lines += [Line(_published_cells(figure, notes), is_published=True) for figure in comparison.elsewhere]
    return Layout(tuple(lines), tuple(notes))


def as_markdown(comparison: Comparison) -> str:
    """Return the table as Markdown, published figures in italics."""
    layout = lay_out(comparison)
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for line in layout.lines:
        name = f"*{line.cells[0]}*" if line.is_published else f"`{line.cells[0]}`"
        lines.append(f"| {' | '.join((name, *line.cells[1:]))} |")
    lines += ["", *(f"[{number}] {note}.  " for number, note in enumerate(layout.notes, 1))] if layout.notes else []
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    remarks = [f"{short(row.behind)} below published"] if row.behind is not None and row.is_far_behind else []
    if row.pretrained:
        remarks.append(f"starts from {row.pretrained['method']}, {row.pretrained['spent']:,.0f} s more")
    if len(row.results) > 1:
        remarks.append(f"{len(row.results)} seeds")
    metrics = [_with_spread(row.metric(name), row.spread(name)) for name in METRICS]
    seconds = f"{row.seconds:,.0f} s" if row.seconds else "none"
    weights = _count(row.parameters) if row.parameters else ""
    return row.method, *metrics, seconds, _rate(row.answers_per_second), weights, "; ".join(remarks)


def _published_cells(figure: Published, notes: dict[str, int]) -> tuple[str, ...]:
    metrics = [short(figure.metrics[name]) if name in figure.metrics else "" for name in METRICS]
    remarks = [] if figure.is_comparable else ["not comparable"]
    if figure.note:
        remarks.append(f"[{notes.setdefault(figure.note, len(notes) + 1)}]")
    return f"{figure.name}, {figure.source}", *metrics, "", "", "", " ".join(remarks)


def short(value: float) -> str:
    """Write a share as papers do, without the zero before the point."""
    return f"{value:.3f}".replace("0.", ".", 1)


def _count(number: int) -> str:
    return f"{number / 1e6:.2f} M" if number >= 1e5 else f"{number:,}"


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _with_spread(value: float, spread: float | None) -> str:
    return short(value) if spread is None else f"{short(value)}{SPREAD} {short(spread)}"
