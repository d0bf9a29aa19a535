"""What the paper prints beside its main table: datasets, ablation, long tail, cases, and the triple of its pictures."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

PrintedTable = Literal["datasets", "ablation", "long_tail", "cases", "attention"]


@cache
def _document() -> dict[str, Any]:
    return json.loads(files("tripleshot.experiments.paper").joinpath("values.json").read_text(encoding="utf-8"))


def printed(table: PrintedTable, dataset: str) -> list[dict[str, Any]]:
    """Return the rows of a table about a dataset, by its name in the catalog; none about any other."""
    return [row for row in _document()[table] if row["dataset"] == dataset]
