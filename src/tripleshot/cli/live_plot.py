"""The curves of a training on a terminal, in dots of braille: two small plots side by side."""

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from tripleshot.training.curve_plot import Series, loss_series, mrr_series, spread, thinned
from tripleshot.training.updates import CurvePoint

HEIGHT = 6  # lines of a plot
MIN_SIZE = (80, 24)  # columns and lines of a terminal that has room for plots
MAX_WIDTH = 56  # columns of a plot
MARGIN = 9  # columns of its axis
BLANK = 0x2800  # the first sign of braille, without a dot
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a sign of braille: lines, then columns


def has_room(console: Console) -> bool:
    """Tell whether plots make sense on a console: a terminal that moves its cursor, is large and writes braille."""
    is_able = console.is_terminal and not console.is_dumb_terminal and not console.legacy_windows
    is_large = console.width >= MIN_SIZE[0] and console.height >= MIN_SIZE[1]
    return is_able and is_large and console.encoding.lower().startswith("utf")


class LivePlot:
    """The curves as far as they are known; printed, they are as wide as the terminal allows."""

    def __init__(self) -> None:
        self.points: list[CurvePoint] = []

    def add(self, points: Sequence[CurvePoint]) -> None:
        """Take in points."""
        self.points += points

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.points:
            return
        width = min((options.max_width - 2) // 2, MAX_WIDTH)
        stage, losses = loss_series(self.points)
        plots = [(f"loss of {stage}", losses, "red"), ("valid MRR", mrr_series(self.points), "cyan")]
        yield Columns([draw(*plot, width) for plot in plots if plot[1]], padding=(0, 2))


def draw(title: str, series: Series, style: str, width: int, height: int = HEIGHT) -> Text:
    """Return a plot of a line: its title with the last value, and an axis with the lowest and the highest."""
    columns = max(width - MARGIN, 1)
    rows = [[BLANK] * columns for _ in range(height)]
    (first, last), (low, high) = spread([step for step, _ in series]), spread([value for _, value in series])
    before = None
    for step, value in thinned(series, 8 * columns):
        x = round((2 * columns - 1) * (step - first) / (last - first))
        y = round((4 * height - 1) * (high - value) / (high - low))
        for dot_x, dot_y in _line(before or (x, y), (x, y)):
            rows[dot_y // 4][dot_x // 2] |= DOTS[dot_y % 4][dot_x % 2]
        before = (x, y)
    drawn = Text(f"{'':{MARGIN}}{title} {series[-1][1]:.3f}"[:width].ljust(width), style="bold", no_wrap=True)
    for number, row in enumerate(rows):
        value = {0: f"{high:.3g}", height - 1: f"{low:.3g}"}.get(number, "")
        drawn.append(f"\n{value:>{MARGIN - 2}} ", style="not bold dim")
        drawn.append("┤" if value else "│", style="not bold dim")
        drawn.append("".join(map(chr, row)), style=f"not bold {style}")
    steps = f"{series[0][0]:,}", f"step {series[-1][0]:,}"
    drawn.append(f"\n{'':{MARGIN}}{steps[0]}{steps[1]:>{max(columns - len(steps[0]), 1)}}", style="not bold dim")
    return drawn


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the dots from one to another, both included."""
    (x, y), (to_x, to_y) = start, end
    length = max(abs(to_x - x), abs(to_y - y))
    return (
        [
            (round(x + (to_x - x) * place / length), round(y + (to_y - y) * place / length))
            for place in range(length + 1)
        ]
        if length
        else [start]
    )
