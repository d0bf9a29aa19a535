"""How a report is written and what of it the terminal shows."""

from pathlib import Path

from rich.table import Table as TerminalTable
from rich.text import Text

from tripleshot.cli.display import console
from tripleshot.experiments.paper.report import Report, Table, write_report

NO_LIMIT = 10_000  # letters: wider than any table


def finish(report: Report, out: Path) -> None:
    """Write a report and print it."""
    write_report(report, out)
    for table in report.tables:
        show_table(table, out / f"{report.name}.md")
    show_verdicts(report)
    console.print(f"written to {out}", style="dim")


def show_table(table: Table, path: Path) -> None:
    """Print a table, or say where it is if the terminal is too narrow for it."""
    shown = TerminalTable(title=table.title, title_justify="left")
    for place, heading in enumerate(table.headings):
        shown.add_column(heading, justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    unbroken = console.measure(shown, options=console.options.update(width=NO_LIMIT)).minimum
    if unbroken > console.width:
        console.print(Text(f"{table.title}: too wide for this terminal, see {path}"))
    else:
        console.print(shown)
    for note in table.notes:
        console.print(Text(note, "dim"))


def show_verdicts(report: Report) -> None:
    """Print what holds and what is missing."""
    for claim in report.claims:
        console.print(Text(f"{claim.verdict}: {claim.text} {claim.detail}"))
    for one in report.missing:
        console.print(Text(f"missing: {one.listed()}", "dim"))
        console.print(Text(f"  {one.command}", "dim"), soft_wrap=True)
