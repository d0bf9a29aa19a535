"""A report: one table or figure of the paper made from our results, with the claims that hold and the missing runs.

Reports are data. They are written as JSON, Markdown, PNG and PDF, and `page` puts them together on one page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tripleshot.evaluation.results import describe_environment, read_json_lines, write_json, write_json_lines
from tripleshot.experiments.comparison_table import format_metric
from tripleshot.files.atomic import write_file

Verdict = Literal["held", "not held", "not known yet"]
PRINTED = "printed"  # heading of a column with the paper's values
NONE = "–"  # in a table, where there is no value
ALL_REPORTS = "reports.jsonl"  # the file with one line per report


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and whether it holds in our runs.

    Attributes:
        text: the claim.
        verdict: whether it holds.
        detail: the values that decide.
    """

    text: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: what is in it.
        headings: of its columns; `PRINTED` is above the paper's values.
        rows: each with as many cells as there are headings.
        notes: paragraphs below the table.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def without_empty(self) -> "Table":
        """Return the table without columns of printed values that are empty: the paper has two datasets."""
        kept = [
            column
            for column, heading in enumerate(self.headings)
            if heading != PRINTED or any(row[column] != NONE for row in self.rows)
        ]
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        return replace(self, headings=tuple(self.headings[column] for column in kept), rows=rows)


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        stem: the name of its files without suffix.
        caption: what it shows.
        draw: writes it to a path, as PNG or PDF by the suffix; None if the files exist already.
    """

    stem: str
    caption: str
    draw: Callable[[Path], None] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Missing:
    """Runs that have not been trained yet.

    Attributes:
        runs: each as "method, K-shot", or another description.
        command: the command that would train them.
    """

    runs: tuple[str, ...]
    command: str

    def listed(self) -> str:
        """Return the runs in one line, grouped by their number of examples."""
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
        title: its heading.
        text: paragraphs before the tables.
        tables: measured values next to printed ones.
        pictures: the figures.
        claims: what the paper says about it.
        missing: runs that it still needs.
        data: the values, not rounded.
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


def read_reports(path: Path) -> list[Report]:
    """Read reports from a .json file with one, or a .jsonl file with several; their figures are not drawn again."""
    return [_from_document(document) for document in read_json_lines(path)]


def _from_document(document: dict[str, Any]) -> Report:
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


def find_report(name: str, folders: Iterable[Path]) -> Report | None:
    """Return a report that was written before, from the first folder that has it; None if none has."""
    for folder in folders:
        for path in (folder / f"{name}.json", folder / ALL_REPORTS):
            found = [report for report in read_reports(path) if report.name == name] if path.exists() else []
            if found:
                return found[0]
    return None


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
    """Return a table as Markdown, with all columns but the first aligned to the right."""
    lines = [_line(table.headings), "|---" + "|--:" * (len(table.headings) - 1) + "|"]
    return "\n".join([*lines, *(_line(row) for row in table.rows)])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_report(report: Report, out: Path) -> None:
    """Write the report into a folder: JSON, Markdown, and each figure as PNG and PDF."""
    write_json({**as_document(report), **describe_environment()}, out / f"{report.name}.json")
    write_file(out / f"{report.name}.md", as_markdown(report).encode())
    for picture in report.pictures:
        for suffix in ("png", "pdf"):
            if picture.draw:
                picture.draw(out / f"{picture.stem}.{suffix}")


def write_reports(reports: Iterable[Report], out: Path) -> None:
    """Write all reports into one file, one line each."""
    environment = describe_environment()
    write_json_lines(({**as_document(report), **environment} for report in reports), out / ALL_REPORTS)


@dataclass(frozen=True)
class Inequality:
    """Two values of which a claim says that the first is higher; None for one that has not been measured.

    Attributes:
        where: what the values are about.
        higher: the value that should be higher.
        lower: the other one.
    """

    where: str
    higher: float | None
    lower: float | None


def against_best(where: str, ours: float | None, others: Mapping[str, float | None]) -> Inequality:
    """Return the inequality with the best of several values; until all are measured, it can only be refuted."""
    known = {name: value for name, value in others.items() if value is not None}
    if not known or ours is None:
        return Inequality(where, None, None)
    name = max(known, key=known.__getitem__)
    is_decided = len(known) == len(others) or known[name] >= ours
    return Inequality(f"{where}, {name}", ours, known[name] if is_decided else None)


def check_claim(text: str, inequalities: Sequence[Inequality]) -> Claim:
    """Decide a claim: one inequality that fails refutes it, and it holds only if all are known and hold.

    Values that are equal with three decimals, as they are printed, are not higher.
    """
    known = [
        (one.where, round(one.higher, 3), round(one.lower, 3))
        for one in inequalities
        if one.higher is not None and one.lower is not None
    ]
    detail = "; ".join(
        f"{where}: {format_metric(first)} against {format_metric(second)}" for where, first, second in known
    )
    if any(first <= second for _, first, second in known):
        return Claim(text, "not held", detail)
    return Claim(text, "held" if known and len(known) == len(inequalities) else "not known yet", detail)


def format_value(value: float | None) -> str:
    """Write a value for a table, with a dash if there is none."""
    return NONE if value is None else format_metric(value)
