"""The paper's two pictures of an answer: the attention map of the global encoder, and the weighted direct neighbors.

`reason_plots` draws the reasons of a method that gives some.
"""

import re
import textwrap
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.text import Text

from tripleshot.answering.explanation import Explanation, Side, WeightedNeighbor
from tripleshot.errors import InputError
from tripleshot.files.atomic import write_figure
from tripleshot.graph.knowledge_graph import KnowledgeGraph

INK, PALE = "#222222", "#6b6b6b"
SIDE_COLORS: dict[Side, str] = {"head": "#0072b2", "tail": "#d55e00"}  # blue and vermilion: told apart by every eye
HEAT = "Blues"  # one hue, darker for more
MAX_DRAWN = 12  # neighbors on each side
MAX_LABEL = 28  # letters
ROW = 0.46  # inches between neighbors
UNWEIGHED = 0.3  # how strong a line is when the method weighs none
NAMESPACE = re.compile(r"[^\s:/#]*[:/#](?=[^\s])")
AFTER_MARK, BREAK = re.compile(r"(?<=[:/#_])(?=\S)"), "\v"  # where a name without spaces may go on in the next line

Align = Literal["left", "center", "right"]


def draw_attention(explanation: Explanation, path: Path) -> None:
    """Draw how much each token of the context attends to each other; the suffix decides: PNG, SVG or PDF."""
    if explanation.attention is None:
        raise InputError(f"{path}: there is no attention to draw, the method has no global encoder")
    size = len(explanation.tokens)
    side = min(3.2 + 0.21 * size, 40)
    figure = Figure(figsize=(side + 0.7, side), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(explanation.attention, cmap=HEAT, vmin=0)
    figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02, label="attention, mean over heads and layers")
    labels = [shorten(token) for token in explanation.tokens]
    axes.set_xticks(range(size), labels, rotation=90, fontsize=7.5)
    axes.set_yticks(range(size), labels, fontsize=7.5)
    axes.set_xlabel("looked at")
    axes.set_ylabel("looking")
    axes.tick_params(length=0)
    first = 2 * sum(neighbor.side == explanation.asked_side for neighbor in explanation.neighbors)
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        _mark_triple(ticks, first)
    for edge in (first - 0.5, first + 2.5):
        axes.axhline(edge, color=PALE, linewidth=0.6)
        axes.axvline(edge, color=PALE, linewidth=0.6)
    axes.set_title(title_of(explanation), fontsize=10, parse_math=False)
    write_figure(figure, path)


def draw_neighbors(explanation: Explanation, path: Path) -> None:
    """Draw the direct neighbors around head and tail, the weightiest on top; heavy lines carry heavy weights."""
    rows = max(min(len(explanation.around(side)), MAX_DRAWN + 1) for side in SIDE_COLORS)
    width, height = 11.0, max(2.2, ROW * rows + 1.1)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    middle = height / 2
    places: dict[Side, tuple[float, float]] = {"head": (width / 2 - 1.7, middle), "tail": (width / 2 + 1.7, middle)}
    axes.plot(*zip(*places.values(), strict=True), color=PALE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=0)
    write_line(axes, width / 2, middle + 0.12, shorten(explanation.relation), fontsize=7.5, color=PALE)
    for side, entity in (("head", explanation.head), ("tail", explanation.tail)):
        box = write_box(axes, explanation.graph.entities.label(entity), places[side], SIDE_COLORS[side])
        _fan_out(axes, explanation, explanation.graph, side, places[side], box)
    write_line(axes, width / 2, height - 0.2, title_of(explanation), fontsize=11)
    write_line(axes, width / 2, 0.2, _caption(explanation), fontsize=7.5, color=PALE)
    write_figure(figure, path)


def shorten(label: str, limit: int = MAX_LABEL) -> str:
    """Write a long name without its namespaces; if it is still long, cut it in the middle, where names differ least."""
    label = without_namespaces(" ".join(label.split()), limit)
    if len(label) <= limit:
        return label
    kept = limit - 1
    return f"{label[: kept - kept // 3].rstrip()}…{label[-(kept // 3) :].lstrip()}"


def without_namespaces(label: str, limit: int) -> str:
    """Leave out what an identifier has before its colons, slashes or hashes, one by one, until the rest fits."""
    if len(label.strip("← →").split()) > 1:
        return label
    while len(label) > limit and (shorter := NAMESPACE.sub("", label, count=1)) != label:
        label = shorter
    return label


def _fan_out(
    axes: Axes, explanation: Explanation, graph: KnowledgeGraph, side: Side, center: tuple[float, float], box: Patch
) -> None:
    """Place the neighbors of one side on an arc around it, outwards, and write beside each what it is."""
    neighbors = explanation.around(side)
    drawn, rest = neighbors[:MAX_DRAWN], len(neighbors[MAX_DRAWN:])
    outwards, align = (-1, "right") if side == "head" else (1, "left")
    rows = len(drawn) + bool(rest)
    heights = ROW * ((rows - 1) / 2 - np.arange(rows))
    reach = 1.1 + 0.7 * np.sqrt(1 - (heights / (ROW * max(rows, 1))) ** 2)
    places = list(zip((center[0] + outwards * reach).tolist(), (center[1] + heights).tolist(), strict=True))
    heaviest = max((neighbor.weight or 0 for neighbor in explanation.neighbors if neighbor.hops == 1), default=0)
    for neighbor, (x, y) in zip(drawn, places, strict=False):
        strength = UNWEIGHED if neighbor.weight is None or not heaviest else neighbor.weight / heaviest
        _draw_edge(axes, graph, neighbor, box, (center, (x, y)), strength)
        _write_neighbor(axes, graph, neighbor, (x + 0.12 * outwards, y), align)
    if rest:
        write_line(axes, *places[-1], f"and {rest} more", align, color=PALE)
    if not drawn:
        write_line(axes, center[0] + 1.5 * outwards, center[1], "no neighbors", align, color=PALE)


def _draw_edge(
    axes: Axes,
    graph: KnowledgeGraph,
    neighbor: WeightedNeighbor,
    box: Patch,
    ends: tuple[tuple[float, float], tuple[float, float]],
    strength: float,
) -> None:
    """Draw an arrow the way the edge points, between a box and a neighbor; the stronger, the wider and the darker."""
    fade = 0.25 + 0.75 * strength
    color = tuple(1 - fade * (1 - channel) for channel in to_rgb(SIDE_COLORS[neighbor.side]))
    arrow = FancyArrowPatch(
        *ends,
        patchA=box,
        shrinkA=3,
        shrinkB=5,
        arrowstyle="<|-" if graph.is_inverse(neighbor.relation) else "-|>",
        mutation_scale=9 + 5 * strength,
        linewidth=0.6 + 3.0 * strength,
        color=color,
        zorder=2 + strength,
    )
    axes.add_patch(arrow)
    axes.scatter(*ends[1], s=26, color=[color], zorder=4)


def _write_neighbor(
    axes: Axes, graph: KnowledgeGraph, neighbor: WeightedNeighbor, place: tuple[float, float], align: Align
) -> None:
    """Write entity and relation in two lines that read as a sentence, whichever way the edge points."""
    entity = shorten(graph.entities.label(neighbor.entity))
    if neighbor.weight is not None:
        percent = f"{neighbor.weight:.0%}"
        entity = f"{entity}  {percent}" if align == "right" else f"{percent}  {entity}"
    relation = shorten(graph.relations.label(graph.base(neighbor.relation)), 36)
    above = 1 if graph.is_inverse(neighbor.relation) else -1
    x, y = place
    write_line(axes, x, y + 0.085 * above, entity, align)
    write_line(axes, x, y - 0.085 * above, relation, align, fontsize=7.5, color=PALE)


def write_box(axes: Axes, label: str, place: tuple[float, float], color: str, fontsize: float = 10) -> Patch:
    """Write a name in a box, below the arrows: they end at the box, and its size is known once it is drawn."""
    name = AFTER_MARK.sub(BREAK, shorten(without_namespaces(label, 24), 32))
    lines = textwrap.wrap(name, 14, replace_whitespace=False)
    text = axes.text(
        *place, "\n".join(lines).replace(BREAK, ""), ha="center", va="center", fontsize=fontsize, color=INK, zorder=1
    )
    text.set_parse_math(False)
    text.set_bbox({"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": color, "linewidth": 1.6})
    box = text.get_bbox_patch()
    assert box is not None
    return box


def write_line(
    axes: Axes, x: float, y: float, label: str, align: Align = "center", fontsize: float = 9, color: str = INK
) -> None:
    """Write one line as it is: a dollar sign in a name starts no formula."""
    axes.text(x, y, label, ha=align, va="center", fontsize=fontsize, color=color, zorder=5).set_parse_math(False)


def _mark_triple(ticks: list[Text], first: int) -> None:
    for place, tick in enumerate(ticks):
        tick.set_parse_math(False)
        if first <= place < first + 3:
            tick.set_fontweight("bold")


def _caption(explanation: Explanation) -> str:
    direct = [neighbor for neighbor in explanation.neighbors if neighbor.hops == 1]
    if any(neighbor.local_weight is not None for neighbor in direct):
        return "percentages: weight of each direct neighbor of a side in the local encoder"
    if any(neighbor.attention is not None for neighbor in direct):
        return "percentages: attention that leads to each direct neighbor in the global encoder"
    return "the method weighs no neighbors"


def title_of(explanation: Explanation) -> str:
    """Name head and tail."""
    graph = explanation.graph
    head, tail = (shorten(graph.entities.label(entity)) for entity in (explanation.head, explanation.tail))
    return f"{head} → {tail}"
