"""The curves of a training as a small picture: the loss of the stage that runs, and the MRR on the valid tasks."""

from collections.abc import Sequence

from tripleshot.markup import BLUE, VERMILION, block, escape
from tripleshot.training.updates import CurvePoint

WIDTH, HEIGHT = 330, 170  # of a panel, in pixels
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 26  # margins
MAX_POINTS = 400  # of a line: a longer one shows every so many

Series = list[tuple[int, float]]


def loss_series(points: Sequence[CurvePoint]) -> tuple[str, Series]:
    """Return the stage that runs, and the sum of its losses by step."""
    stage = points[-1].stage if points else ""
    return stage, [(one.step, sum(one.losses.values())) for one in points if one.stage == stage and one.losses]


def mrr_series(points: Sequence[CurvePoint]) -> Series:
    """Return the MRR of each validation by step."""
    return [(point.step, point.valid_mrr) for point in points if point.valid_mrr is not None]


def draw_curves(points: Sequence[CurvePoint]) -> str:
    """Return an SVG picture as HTML; text has the color of the page around."""
    stage, losses = loss_series(points)
    panels = [_panel(f"loss of {stage}", losses, VERMILION, 0), _panel("valid MRR", mrr_series(points), BLUE, WIDTH)]
    size = f'width="{2 * WIDTH}" height="{HEIGHT}" viewBox="0 0 {2 * WIDTH} {HEIGHT}"'
    style = "max-width:100%;height:auto;font:11px sans-serif;fill:currentColor"
    return block(f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} style="{style}">{"".join(panels)}</svg>')


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return where an axis for these values begins and ends; a single value stands in the middle."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - max(abs(low), 1e-6) / 2, high + max(abs(high), 1e-6) / 2)


def thinned(series: Series, limit: int) -> Series:
    """Return at most so many points of a line, its last one among them."""
    every = -(-len(series) // limit)
    return series if every <= 1 else series[::-1][::every][::-1]


def _panel(title: str, series: Series, color: str, offset: int) -> str:
    written = f'<text x="{offset + LEFT}" y="16" font-weight="600">{escape(title)}{_last(series)}</text>'
    bottom, right = HEIGHT - BOTTOM, offset + WIDTH - RIGHT
    axes = f'<path d="M{offset + LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    if not series:
        return f'<g>{written}{axes}<text x="{offset + LEFT + 8}" y="{TOP + 16}" opacity=".7">none yet</text></g>'
    shown = thinned(series, MAX_POINTS)
    (first, last), (low, high) = spread([step for step, _ in series]), spread([value for _, value in series])

    def place(step: float, value: float) -> tuple[float, float]:
        x = offset + LEFT + (WIDTH - LEFT - RIGHT) * (step - first) / (last - first)
        return x, bottom - (bottom - TOP) * (value - low) / (high - low)

    places = [place(*point) for point in shown]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.8"/>'
    if len(places) <= 30:
        drawn += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{color}"/>' for x, y in places)
    ticks = "".join(
        f'<text x="{offset + LEFT - 6}" y="{place(first, value)[1] + 4:.1f}" text-anchor="end" opacity=".7">'
        f"{value:.3g}</text>"
        for value in (low, high)
    )
    ends = (
        f'<text x="{right}" y="{HEIGHT - 8}" text-anchor="end" opacity=".7">step {series[-1][0]:,}</text>'
        f'<text x="{offset + LEFT}" y="{HEIGHT - 8}" opacity=".7">{series[0][0]:,}</text>'
    )
    return f"<g>{written}{axes}{ticks}{ends}{drawn}</g>"


def _last(series: Series) -> str:
    return f"  {series[-1][1]:.3f}" if series else ""
