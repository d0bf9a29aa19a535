"""Tables and the figure of the universal weights, from `results/universal.jsonl`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tripleshot.evaluation.results import read_json_lines
from tripleshot.experiments.comparison_table import format_metric

RESULTS = Path(__file__).parents[1] / "results"
METHODS = {
    "linked": "`linked`",
    "evidence": "`evidence`",
    "without": "universal without this graph, as it comes",
    "without-fitted": "universal without this graph, fitted to it",
    "only": "trained on this graph alone",
    "everything-fitted": "universal as shipped, fitted to it",
}
ULTRA = {"ultra-3g": "ULTRA, public checkpoint of 3 graphs", "ultra-50g": "ULTRA, 50 graphs, NELL's among them"}
NUM_BINS = 10


def rows() -> list[dict[str, Any]]:
    """Return one row per graph, number of examples and method."""
    return read_json_lines(RESULTS / "universal.jsonl")


def graphs() -> list[str]:
    """Return the names of the graphs that were left out in turn."""
    return list(dict.fromkeys(row["dataset"] for row in rows() if row["label"] in METHODS))


def mrr(graph: str, label: str, shots: int, train_edges: bool = True, as_published: bool = False) -> str:
    """Return the MRR of one method as it is printed: the mean over draws of the examples, or of the published ones."""
    found = [
        row["mrr_by_draw"][0] if as_published and "mrr_by_draw" in row else row["micro"]["mrr"]
        for row in rows()
        if (row["dataset"], row["label"], row["shots"], row["train_edges"]) == (graph, label, shots, train_edges)
    ]
    return format_metric(found[0]) if found else ""


def universal_table() -> str:
    """Return every method on every graph, with one example and with five."""
    lines = [f"| graph | shots | {' | '.join(METHODS.values())} |", "|---" * (len(METHODS) + 2) + "|"]
    for graph in graphs():
        for shots in (1, 5):
            values = " | ".join(mrr(graph, label, shots) for label in METHODS)
            lines.append(f"| {graph} | {shots} | {values} |")
    return "\n".join(lines)


def edges_table() -> str:
    """Return methods with and without the train tasks as edges, by the examples as published, where both are there."""
    lines = ["| graph | method | shots | train tasks as edges | background alone |", "|---|---|---|---|---|"]
    for graph in dict.fromkeys(row["dataset"] for row in rows() if not row["train_edges"]):
        for label, name in (METHODS | ULTRA).items():
            for shots in (1, 5):
                with_edges, without = (mrr(graph, label, shots, shown, as_published=True) for shown in (True, False))
                if without:
                    lines.append(f"| {graph} | {name} | {shots} | {with_edges} | {without} |")
    return "\n".join(lines)


def confidence_table() -> str:
    """Return how far confidence can be trusted on graphs that took no part, each and all together."""
    lines = ["| graph left out | questions | error of confidence | error of “none of these” |", "|---|---|---|---|"]
    found = {row["dataset"]: row["calibration"] for row in rows() if "calibration" in row}
    for graph, one in found.items():
        errors = [format_metric(one[name]) for name in ("calibration_error", "none_error")]
        lines.append(f"| {graph} | {one['questions']:,} | {' | '.join(errors)} |")
    total = sum(one["questions"] for one in found.values())
    pooled = [format_metric(error_of([one[name] for one in found.values()])) for name in ("bins", "none_bins")]
    lines.append(f"| **all of them together** | {total:,} | {' | '.join(pooled)} |")
    return "\n".join(lines)


def error_of(parts: Sequence[list[list[float]]]) -> float:
    """Return the expected calibration error of several graphs, each counting the same."""
    pooled = np.mean(parts, axis=0)
    return float(np.abs(pooled[:, 1] - pooled[:, 2]).sum())


def draw_reliability(path: Path) -> None:
    """Draw how often best answers are right, by how sure the network was, on graphs that took no part."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    parts = [row["calibration"] for row in rows() if "calibration" in row]
    titles = {"bins": "the best answer is right", "none_bins": "no candidate is right"}
    for axes, (name, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        pooled = np.mean([part[name] for part in parts], axis=0)
        used = pooled[:, 0] > 0
        said, was = pooled[used, 1] / pooled[used, 0], pooled[used, 2] / pooled[used, 0]
        axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="what is said is what is")
        axes.plot(said, was, marker="o", color="tab:blue", label="graphs left out of training")
        axes.bar(said, pooled[used, 0], width=0.05, color="tab:blue", alpha=0.2, label="share of the questions")
        axes.set(xlim=(0, 1), ylim=(0, 1), title=title, xlabel="probability that was said", ylabel="share of the time")
        axes.legend(loc="upper left", frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
