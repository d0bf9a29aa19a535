"""All reports on one page: a single HTML file that needs neither network nor JavaScript."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.results import Result, describe_environment
from tripleshot.experiments.comparison_table import format_metric, label_of
from tripleshot.experiments.paper.report import NONE, PRINTED, Claim, Missing, Picture, Report, Table
from tripleshot.experiments.paper.values import deviations

PROTOCOL = (
    "The first K triples of each test relation are its examples, all others are queries; nothing of a query is ever "
    "shown to a model.",
    "Each true tail is ranked among the relation's candidates that are not known to be true as well; equal scores "
    "count against it.",
    "MRR and Hits are means over all queries. Models are chosen on dev, never on test.",
    "Printed values are those of Li et al., 2022 (arXiv:2203.11639).",
)
VERDICTS = {"held": "held", "not held": "failed", "not known yet": "unknown"}
MAIN = "main"  # the command that trains methods; the others train variants of RSCL
CLAIMS, MISSING, BACKGROUND = ("claims", "What holds"), ("missing", "What is missing"), ("protocol", "How it was done")


def build_page(
    dataset: FewShotDataset, data_hash: str, reports: Sequence[Report], found: Sequence[Result], out: Path
) -> str:
    """Return the page.

    Args:
        dataset: what everything is about.
        data_hash: of its content.
        reports: in their order on the page.
        found: the results that they are made from.
        out: the folder with their figures.
    """
    missing = [one for report in reports for one in report.missing]
    sections = {
        CLAIMS: _claims(reports),
        **{(report.name, report.title): _report(report, out) for report in reports},
        **({MISSING: _missing(missing)} if missing else {}),
        BACKGROUND: _background(data_hash, found),
    }
    body = "\n".join(
        f'<section id="{name}"><h2>{escape(title)}</h2>{part}</section>' for (name, title), part in sections.items()
    )
    links = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in sections)
    template = Template(files("tripleshot.experiments.paper").joinpath("page.html").read_text(encoding="utf-8"))
    subtitle = (
        "Tables and figures of “Learning Relation-Specific Representations for Few-shot Knowledge Graph Completion”, "
        "from our runs, next to the printed values."
    )
    return template.substitute(title=escape(f"RSCL on {dataset.name}"), subtitle=subtitle, links=links, body=body)


def _report(report: Report, out: Path) -> str:
    parts = [*(f"<p>{_prose(text)}</p>" for text in report.text), *(_table(table) for table in report.tables)]
    parts += [_picture(picture, out) for picture in report.pictures]
    parts.append(_claim_list(report.claims) if report.claims else "")
    parts += [_missing_runs(one) for one in report.missing]
    return "\n".join(parts)


def _table(table: Table, are_words: bool = False) -> str:
    is_printed = [heading == PRINTED for heading in table.headings]
    head = "".join(_cell("th", *pair) for pair in zip(table.headings, is_printed, strict=True))
    rows = "".join(f"<tr>{_row(row, is_printed)}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{_prose(note)}</p>' for note in table.notes)
    kind = ' class="words"' if are_words else ""
    inner = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<h3>{escape(table.title)}</h3><div class="scroll" tabindex="0">{inner}</div>{notes}'


def _row(row: Sequence[str], is_printed: Sequence[bool]) -> str:
    return "".join(_cell("td", cell, row[0] == PRINTED or flag) for cell, flag in zip(row, is_printed, strict=True))


def _cell(tag: str, text: str, is_printed: bool) -> str:
    kind = ' class="printed"' if is_printed else ""
    return f"<{tag}{kind}>{_prose(text)}</{tag}>"


def _prose(text: str) -> str:
    """Escape text for HTML, and set what is between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _picture(picture: Picture, out: Path) -> str:
    content = (out / f"{picture.stem}.png").read_bytes()
    width = int.from_bytes(content[16:20]) * 6 // 10  # pixels, at 160 dpi in the file and 96 dpi on a screen
    caption, inlined = escape(picture.caption), base64.b64encode(content).decode()
    image = f'<img alt="{caption}" width="{width}" src="data:image/png;base64,{inlined}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _claims(reports: Iterable[Report]) -> str:
    claims = [claim for report in reports for claim in report.claims]
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    text = (
        f"The claims of the paper, checked with our runs: {summary}. A verdict says which value is higher, not by how "
        "much: with one seed, differences of a few hundredths can be random."
    )
    return f"<p>{text}</p>{_claim_list(replace(claim, detail='') for claim in claims)}"


def _claim_list(claims: Iterable[Claim]) -> str:
    items = "".join(
        f'<li class="{VERDICTS[claim.verdict]}"><b>{claim.verdict}</b> {escape(claim.text)} '
        f'<span class="soft">{escape(claim.detail)}</span></li>'
        for claim in claims
    )
    return f'<ul class="claims">{items}</ul>'


def _missing_runs(missing: Missing) -> str:
    return f'<p class="note">Missing: {escape(missing.listed())}.</p><pre>{escape(missing.command)}</pre>'


def _missing(missing: Iterable[Missing]) -> str:
    """List the commands that would train what is missing, without those that add nothing to earlier ones."""
    listed: dict[bool, set[str]] = {True: set(), False: set()}
    parts = []
    for one in missing:
        of_methods = one.command.split()[2] == MAIN
        if not listed[of_methods].issuperset(one.runs):
            parts.append(_missing_runs(one))
            listed[of_methods].update(one.runs)
    return "<p>Nothing is trained to make this page. These commands would train what it lacks:</p>" + "".join(parts)


def _background(data_hash: str, found: Sequence[Result]) -> str:
    environment = describe_environment()
    machine = ", ".join(f"{name} {value}" for name, value in environment["machine"].items())
    protocol = "".join(f"<li>{escape(line)}</li>" for line in PROTOCOL)
    return (
        f"<h3>The protocol</h3><ul>{protocol}</ul>"
        f"{_table(deviations(), are_words=True)}"
        f"<h3>The machine that made this page</h3><p>{escape(machine)}; tripleshot {environment['version']}, "
        f"commit <code>{environment['commit']}</code>; data <code>{data_hash}</code>.</p>"
        f"<pre>{escape(environment['command'])}</pre>"
        f"{_runs(found)}"
    )


def _runs(found: Sequence[Result]) -> str:
    headings = ("run", "shots", "seed", "test MRR", "queries", "commit", "data", "made by")
    rows = tuple(_run(result) for result in found)
    return _table(Table("The runs behind it", headings, rows)) if rows else ""


def _run(result: Result) -> tuple[str, ...]:
    training = result.get("training", {})
    return (
        label_of(result),
        str(result["shots"]),
        str(result["seed"]),
        format_metric(result["micro"]["mrr"]),
        f"{result['queries']:,}",
        (training.get("commit") or result["commit"] or NONE)[:12],
        result["data_hash"][:12],
        f"`{training.get('command') or result['command']}`",
    )
