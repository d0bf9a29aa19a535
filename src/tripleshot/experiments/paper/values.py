"""What the paper prints besides its main table, and where this library deviates from the paper: both are data."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from tripleshot.experiments.paper.report import Table

PrintedTable = Literal["datasets", "ablation", "long_tail", "cases", "attention"]


@cache
def _read(name: str) -> Any:  # noqa: ANN401 (a JSON document)
    return json.loads(files("tripleshot.experiments.paper").joinpath(name).read_text(encoding="utf-8"))


def printed_rows(table: PrintedTable, dataset: str) -> list[dict[str, Any]]:
    """Return the rows that a table of the paper has about a dataset, by its name in the catalog."""
    return [row for row in _read("values.json")[table] if row["dataset"] == dataset]


def deviations() -> Table:
    """Return every deviation: what the paper says, what is done here, and why."""
    keys = ("topic", "paper", "here", "why")
    rows = tuple(tuple(row[key] for key in keys) for row in _read("deviations.json"))
    return Table("What differs from the paper, and why", ("", *keys[1:]), rows)
