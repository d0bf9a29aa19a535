"""The paper's first figure: how many entities have how many direct neighbors."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.statistics import neighbor_histogram
from tripleshot.errors import InputError
from tripleshot.experiments.figures import COLORS, save


def draw_neighbor_figure(dataset: FewShotDataset, path: Path) -> None:
    """Draw the distribution on logarithmic axes; the suffix of the file decides the format (PNG, PDF, SVG)."""
    neighbors, entities = neighbor_histogram(dataset.graph)
    if not len(neighbors):
        raise InputError(f"{dataset.name} has no background edges to draw")
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.scatter(neighbors, entities, s=14, color=COLORS[0], alpha=0.75, linewidths=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("direct neighbors of an entity")
    axes.set_ylabel("number of entities")
    axes.set_title(dataset.name)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
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
    save(figure, path)
