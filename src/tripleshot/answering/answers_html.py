"""Answers and explanations as a notebook shows them: tables with bars, and the reasons as a picture."""

import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tripleshot.answering.text import remarks, title_text
from tripleshot.graph.graph_html import named
from tripleshot.markup import BLUE, Markup, bar, block, escape, heading, name, note, paragraph, spell_out, table

if TYPE_CHECKING:
    from tripleshot.answering.answers import Answer, Answers
    from tripleshot.answering.explanation import Explanation

MAX_ASKED, MAX_ANSWERS = 10, 20  # entities, and answers of each
SURPLUS = (
    re.compile(r"^.*?(?=<svg)", re.DOTALL),  # what makes a picture a file of its own
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL),  # it would hold for the whole page
    re.compile(r' id="[A-Za-z]\w*_\d+"'),
)
OWN_COLORS = {
    "fill: #222222": "fill: currentColor",
    "stroke: #222222": "stroke: currentColor",
    "fill: #6b6b6b": "fill: currentColor; fill-opacity: .75",
    "stroke: #6b6b6b": "stroke: currentColor; stroke-opacity: .6",
    "fill: #ffffff": "fill: none",
    'fill="#ffffff"': 'fill="none"',
    "#0072b2": BLUE,
}
"""Colors of a picture on white paper, and what they are on a page that may be dark."""


def answers_html(answers: "Answers") -> str:
    """Lay out the answers of each entity that was asked about."""
    parts: list[str] = []
    for place, entity in enumerate(answers.asked[:MAX_ASKED]):
        found, ranked = answers[place], answers.rankings[place]
        shown = found[:MAX_ANSWERS]
        is_sure = any(answer.confidence is not None for answer in shown)
        rows = [_row(answers, answer, is_sure) for answer in shown]
        faint = []
        if ranked.none is not None:
            faint = [len(rows)]
            rows.append(
                ("", f"none of the {ranked.num_candidates:,} candidates", bar(ranked.none, _percent(ranked.none)), "")
            )
        headings = ("", "answer", *(("confidence",) if is_sure else ()), "score")
        parts += [
            heading(name(answers.title(entity))),
            table(headings, rows, right=(0, len(headings) - 1), faint=faint),
        ]
        if rest := len(found) - len(shown):
            parts.append(note(f"and {rest:,} more answers"))
    if rest := len(answers) - MAX_ASKED:
        parts += [note(f"and {rest:,} more entities")] if rest > 0 else []
    return block(*parts)


def explanation_html(explanation: "Explanation") -> str:
    """Write what was asked and the whole in one sentence, draw the reasons, and tell what is no reason."""
    picture = inline_picture(explanation)
    return block(
        heading(title_text(explanation)),
        paragraph(explanation.summary),
        picture,
        *(note(remark) for remark in remarks(explanation)),
    )


def inline_picture(explanation: "Explanation") -> Markup:
    """Return the most telling picture of an explanation as SVG for the middle of a page, in the colors of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks: the browser has others
            explanation.plot(path)
        text = spell_out(path.read_text(encoding="utf-8"))
    for surplus in SURPLUS:
        text = surplus.sub("", text)
    for paper, page in OWN_COLORS.items():
        text = text.replace(paper, page)
    label = escape(explanation.summary)
    about = f'<svg role="img" aria-label="{label}" style="max-width:100%;height:auto;fill:currentColor"'
    return Markup(re.sub(r"\s*\n\s*", " ", text.replace("<svg", about, 1)))


def _row(answers: "Answers", answer: "Answer", is_sure: bool) -> tuple[object, ...]:
    label = named(answers.graph.entities, answer.id)
    shown = Markup(f"{label} <i>(known)</i>") if answer.is_known else label
    share = answer.confidence
    sure = ("" if share is None else bar(share, _percent(share)),) if is_sure else ()
    return f"{answer.rank}.", shown, *sure, f"{answer.score:z.3f}"


def _percent(share: float) -> str:
    return f"{share:.0%}"
