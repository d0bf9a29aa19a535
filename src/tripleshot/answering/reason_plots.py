"""The reasons of an answer as a picture: one row each, in the order of the text, with its weight and its paths."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from tripleshot.answering.explanation import Explanation
from tripleshot.answering.plots import INK, PALE, SIDE_COLORS, shorten, title_of, write_box, write_line
from tripleshot.answering.text import MAX_NAMED, new_paths, signed
from tripleshot.errors import InputError
from tripleshot.files.atomic import write_figure
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.protocol import Reason

FOR, AGAINST = "#0072b2", "#d55e00"  # blue and vermilion, told apart by every eye; sign, side and hatching say the same
WIDTH = 11.0  # of the picture; this and all below in inches
ZERO, LONGEST = 1.2, 0.55  # where bars begin, and how long the longest is
WORDS = 2.1  # where the text of a reason begins
LINE, CHAIN, GAP = 0.21, 0.72, 0.16  # heights: of a line of text, of a path, and between reasons
BOX, MAX_ARROW = 1.3, 2.3  # room for an entity, and for the arrow between two
MAX_LETTERS = 100  # in a line of text
CAPTION = "bars: what a reason adds to the score (+, to the right) or takes from it (−, hatched, to the left)"


@dataclass(frozen=True)
class Step:
    """An arrow of a path.

    Attributes:
        label: the relation.
        is_inverse: whether the edge points to the left.
        is_example: whether an example says it, and not the graph.
    """

    label: str
    is_inverse: bool = False
    is_example: bool = False


@dataclass(frozen=True)
class Chain:
    """A path to draw: entities from left to right, and the steps between them."""

    entities: tuple[int, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Row:
    """A reason to draw: its lines of text and, below them, its chains."""

    reason: Reason
    lines: list[str]
    chains: list[Chain]

    @property
    def height(self) -> float:
        """Of text and chains together."""
        return LINE * len(self.lines) + CHAIN * len(self.chains) + GAP


def draw_reasons(explanation: Explanation, path: Path) -> None:
    """Draw the main reasons from top to bottom, each with its weight as a bar and the paths that it rests on."""
    rows = _rows(explanation)
    if not rows:
        raise InputError(f"{path}: there are no reasons to draw, the method gives none")
    height = sum(row.height for row in rows) + 1.3
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, height))
    axes.set_axis_off()
    write_line(axes, WIDTH / 2, height - 0.25, title_of(explanation), fontsize=11)
    top = height - 0.75
    axes.plot([ZERO, ZERO], [top + 0.1, 0.5], color=PALE, linewidth=0.6, zorder=0)
    heaviest = max(abs(row.reason.weight) for row in rows)
    for row in rows:
        _draw_bar(axes, row.reason.weight, heaviest, top - LINE / 2)
        for place, line in enumerate(row.lines):
            write_line(axes, WORDS, top - LINE * (place + 0.5), line, "left")
        for place, chain in enumerate(row.chains):
            middle = top - LINE * len(row.lines) - CHAIN * (place + 0.5)
            _draw_chain(axes, explanation, chain, middle)
        top -= row.height
    write_line(axes, WIDTH / 2, 0.2, CAPTION, fontsize=7.5, color=PALE)
    write_figure(figure, path)


def _rows(explanation: Explanation) -> list[Row]:
    graph = explanation.graph
    rows = []
    for reason, paths in new_paths(explanation):
        chains = [
            Chain(path.entities, tuple(Step(_label(graph, step), graph.is_inverse(step)) for step in path.relations))
            for path in paths
        ]
        said = Step(shorten(explanation.relation, 36), is_example=True)
        chains += [Chain(pair, (said,)) for pair in reason.examples[:MAX_NAMED]]
        rows.append(Row(reason, textwrap.wrap(reason.text, MAX_LETTERS), chains))
    return rows


def _label(graph: KnowledgeGraph, relation: int) -> str:
    return graph.relations.label(graph.base(relation))


def _draw_bar(axes: Axes, weight: float, heaviest: float, y: float) -> None:
    """Draw a weight to the right of zero, or hatched to its left, and write it on the other side."""
    length = LONGEST * abs(weight) / heaviest
    color, start = (FOR, ZERO) if weight > 0 else (AGAINST, ZERO - length)
    hatch = None if weight > 0 else "////"
    face = color if weight > 0 else "white"
    bar = Rectangle((start, y - 0.06), length, 0.12, facecolor=face, edgecolor=color, hatch=hatch, zorder=2, gid="bar")
    axes.add_patch(bar)
    outwards = -0.07 if weight > 0 else 0.07
    write_line(axes, ZERO + outwards, y, signed(weight), "right" if weight > 0 else "left", color=color)


def _draw_chain(axes: Axes, explanation: Explanation, chain: Chain, y: float) -> None:
    """Draw entities in boxes, with an arrow between two the way their edge points and its relation written over it."""
    count = len(chain.entities)
    arrow = min(MAX_ARROW, (WIDTH - WORDS - 0.2 - count * BOX) / (count - 1))
    places = [(WORDS + BOX / 2 + place * (BOX + arrow), y) for place in range(count)]
    colors = {explanation.head: SIDE_COLORS["head"], explanation.tail: SIDE_COLORS["tail"]}
    label = explanation.graph.entities.label
    boxes = [
        write_box(axes, label(entity), place, colors.get(entity, PALE), 8.5)
        for entity, place in zip(chain.entities, places, strict=True)
    ]
    for place, step in enumerate(chain.steps):
        axes.add_patch(
            FancyArrowPatch(
                places[place],
                places[place + 1],
                patchA=boxes[place],
                patchB=boxes[place + 1],
                shrinkA=3,
                shrinkB=3,
                arrowstyle="<|-" if step.is_inverse else "-|>",
                linestyle="--" if step.is_example else "-",
                mutation_scale=10,
                color=INK,
                linewidth=1.1,
            )
        )
        middle = (places[place][0] + places[place + 1][0]) / 2
        letters = max(8, int(arrow * 18))
        lines = textwrap.wrap(shorten(step.label, 2 * letters - 2), letters)[:2]
        for row, line in enumerate(reversed(lines)):
            write_line(axes, middle, y + 0.1 + 0.13 * row, line, fontsize=7, color=PALE)
