"""A comparison as a JSON document."""

from typing import Any

from tripleshot.experiments.comparison_table import Comparison, Row
from tripleshot.experiments.published import METRICS, Published


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a JSON document, with the learning curve of each seed."""
    return {
        "dataset": comparison.dataset,
        "shots": comparison.shots,
        "split": comparison.split,
        "budget": comparison.budget,
        "rows": [_row_document(row) for row in comparison.rows],
        "published_elsewhere": [_published_document(published) for published in comparison.other_published],
    }


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "method": row.method,
        "micro": {name: row.metric(name) for name in METRICS},
        **({"spread": {name: row.spread(name) for name in METRICS}} if len(row.results) > 1 else {}),
        "seconds": row.seconds,
        "answers_per_second": row.answers_per_second,
        "parameters": row.parameters,
        **({"pretrained": row.pretrained} if row.pretrained else {}),
        "behind_published": row.behind,
        "is_far_behind": row.is_far_behind,
        "seeds": [
            {
                "seed": result["seed"],
                "micro": result["micro"],
                "config": result["config"],
                **{
                    key: result["training"][key]
                    for key in ("spent", "best", "curve")
                    if key in result.get("training", {})
                },
            }
            for result in row.results
        ],
        "published": [_published_document(published) for published in row.published],
    }


def _published_document(published: Published) -> dict[str, Any]:
    return {
        "name": published.name,
        "source": published.source,
        "where": published.where,
        **published.metrics,
        "is_comparable": published.is_comparable,
        **({"note": published.note} if published.note else {}),
    }
