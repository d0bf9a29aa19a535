"""A comparison as a notebook shows it: its table, with a bar for each MRR."""

from tripleshot.experiments.comparison_table import HEADINGS, Comparison, Line, lay_out
from tripleshot.markup import bar, block, heading, note, table


def comparison_html(comparison: Comparison) -> str:
    """Lay out a comparison; what is published is fainter."""
    layout = lay_out(comparison)
    faint = [number for number, line in enumerate(layout.lines) if line.is_published]
    notes = [note(f"[{number}] {text}") for number, text in enumerate(layout.notes, 1)]
    rows = [_row(line) for line in layout.lines]
    return block(heading(comparison.title), table(HEADINGS, rows, right=range(2, 8), faint=faint), *notes)


def _row(line: Line) -> tuple[object, ...]:
    method, mrr, *rest = line.cells
    first = mrr.split()
    return method, bar(float(first[0]), mrr) if first else "", *rest
