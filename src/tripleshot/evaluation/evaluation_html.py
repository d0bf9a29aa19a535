"""An evaluation as a notebook shows it: the metrics of each relation, and their means."""

from typing import TYPE_CHECKING

from tripleshot.evaluation.ranks import HITS_AT
from tripleshot.markup import Markup, bar, block, heading, name, note, table

if TYPE_CHECKING:
    from tripleshot.evaluation.protocol import Evaluation

MAX_RELATIONS = 40


def evaluation_html(evaluation: "Evaluation") -> str:
    """Lay out an evaluation."""
    summary = evaluation.summary
    labels = {task.name: task.label or task.name for task in evaluation.dataset.tasks(evaluation.split)}
    of_relations = [
        _row(name(labels.get(relation, relation), relation), row)
        for relation, row in list(summary.relations.items())[:MAX_RELATIONS]
    ]
    rest = len(summary.relations) - len(of_relations)
    means = [
        _row("mean of relations", summary.macro),
        _row("mean of queries", {**summary.micro, "queries": len(evaluation)}),
    ]
    headings = ("relation", "queries", "MRR", *(f"Hits@{n}" for n in reversed(HITS_AT)))
    about = f"{evaluation.dataset.name} {evaluation.split}, {evaluation.shots} shots"
    return block(
        heading(about),
        table(headings, [*of_relations, *means], right=(1, 3, 4, 5)),
        *([note(f"and {rest:,} more relations")] if rest else []),
    )


def _row(relation: str | Markup, row: dict[str, float | int]) -> tuple[object, ...]:
    queries = f"{row['queries']:,}" if "queries" in row else ""
    hits = (f"{row[f'hits@{n}']:.3f}" for n in reversed(HITS_AT))
    return relation, queries, bar(row["mrr"], f"{row['mrr']:.3f}"), *hits
