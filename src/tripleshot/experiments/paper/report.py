"""A report: one table or figure of the paper, from our results, with what holds and what is missing.

Reports are data. They are written as JSON, Markdown, PNG and PDF, and put together to one page by `page`.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tripleshot.atomic import write_file
from tripleshot.evaluation.results import describe_environment, write_json

Verdict = Literal["held", "not held", "not known yet"]
PRINTED = "printed"  # heading of a column with the paper's figures
NONE = "–"  # in a table, where there is no figure


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and whether our runs say so, too.

    Attributes:
        text: the claim.
        verdict: what our runs say.
        detail: the figures that it rests on.
    """

    text: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: what is in it.
        headings: of its columns; `PRINTED` is above the paper's figures.
        rows: as many cells each as there are headings.
        notes: below it.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def without_empty(self) -> "Table":
        """Return the table without columns of printed figures that have none: the paper knows two datasets."""
        kept = [
            place
            for place, heading in enumerate(self.headings)
            if heading != PRINTED or any(row[place] != NONE for row in self.rows)
        ]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return replace(self, headings=tuple(self.headings[place] for place in kept), rows=rows)


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        stem: of its files.
        caption: what one sees.
        draw: writes it to a path, PNG or PDF by the suffix; None where the files are there already.
    """

    stem: str
    caption: str
    draw: Callable[[Path], None] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Missing:
    """Runs that nobody has trained yet.

    Attributes:
        runs: each as "method, K-shot", or in other words.
        command: that would train them.
    """

    runs: tuple[str, ...]
    command: str

    def listed(self) -> str:
        """List the runs by their number of examples."""
        by_shots: dict[str, list[str]] = {}
        for run in self.runs:
            name, _, shots = run.rpartition(", ")
            by_shots.setdefault(shots if name else "", []).append(name or run)
        return "; ".join(
            f"{shots}: {', '.join(names)}" if shots else ", ".join(names) for shots, names in by_shots.items()
        )


@dataclass(frozen=True, eq=False)
class Report:
    """One table or figure of the paper.

    Attributes:
        name: as in `tripleshot paper NAME`.
        title: for people.
        text: paragraphs before the tables.
        tables: what was measured, beside what is printed.
        pictures: the figures.
        claims: of the paper, about this.
        missing: runs that it still needs.
        data: the figures themselves, unrounded.
    """

    name: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    claims: tuple[Claim, ...] = ()
    missing: tuple[Missing, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


def as_document(report: Report) -> dict[str, Any]:
    """Return the report as a JSON document."""
    return {
        "name": report.name,
        "title": report.title,
        "text": report.text,
        "tables": [asdict(table) for table in report.tables],
        "pictures": [{"stem": picture.stem, "caption": picture.caption} for picture in report.pictures],
        "claims": [asdict(claim) for claim in report.claims],
        "missing": [asdict(one) for one in report.missing],
        "data": report.data,
    }


def read_report(path: Path) -> Report:
    """Read a report that was written before; its pictures are files already."""
    document = json.loads(path.read_text(encoding="utf-8"))
    tables = (
        Table(one["title"], tuple(one["headings"]), tuple(map(tuple, one["rows"])), tuple(one["notes"]))
        for one in document["tables"]
    )
    return Report(
        document["name"],
        document["title"],
        tuple(document["text"]),
        tuple(tables),
        tuple(Picture(one["stem"], one["caption"]) for one in document["pictures"]),
        tuple(Claim(one["text"], one["verdict"], one["detail"]) for one in document["claims"]),
        tuple(Missing(tuple(one["runs"]), one["command"]) for one in document["missing"]),
        document["data"],
    )


def as_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {report.title}", *report.text]
    for table in report.tables:
        blocks += [f"## {table.title}", markdown_table(table), *table.notes]
    blocks += [f"![{picture.caption}]({picture.stem}.png)\n\n{picture.caption}" for picture in report.pictures]
    if report.claims:
        blocks.append(
            "\n".join(f"- **{claim.verdict}**: {claim.text} {claim.detail}".rstrip() for claim in report.claims)
        )
    blocks += [f"Missing: {one.listed()}.\n\n```\n{one.command}\n```" for one in report.missing]
    return "\n\n".join(blocks) + "\n"


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, figures to the right."""
    lines = [_line(table.headings), "|---" + "|--:" * (len(table.headings) - 1) + "|"]
    return "\n".join([*lines, *(_line(row) for row in table.rows)])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_report(report: Report, out: Path) -> None:
    """Write the report into a folder: JSON, Markdown, and each picture as PNG and PDF."""
    write_json({**as_document(report), **describe_environment()}, out / f"{report.name}.json")
    write_file(out / f"{report.name}.md", as_markdown(report).encode())
    for picture in report.pictures:
        for suffix in ("png", "pdf"):
            if picture.draw:
                picture.draw(out / f"{picture.stem}.{suffix}")
