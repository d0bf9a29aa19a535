"""Published results on NELL-One and Wiki-One, from papers, READMEs and logs, each with its source."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from tripleshot.experiments.variants import variant_of

METRICS = ("mrr", "hits@10", "hits@5", "hits@1")


@dataclass(frozen=True)
class Published:
    """One row of a published table.

    Attributes:
        dataset: its name in the catalog.
        shots: K.
        name: as its authors call it.
        method: the method of this library that it is compared with; None if there is none.
        source: the short name of the publication.
        where: the publication in full.
        metrics: `mrr`, `hits@10`, `hits@5`, `hits@1`, or those of them that are printed.
        settings: what makes it a variant of the method.
        is_comparable: it is believed to follow the same protocol.
        note: what to know before comparing.
    """

    dataset: str
    shots: int
    name: str
    method: str | None
    source: str
    where: str
    metrics: Mapping[str, float]
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_comparable: bool = True
    note: str = ""

    @property
    def label(self) -> str:
        """The method and variant of this library that it is compared with; empty if there is none."""
        return str(variant_of(self.method, self.settings)) if self.method else ""


@cache
def all_published() -> tuple[Published, ...]:
    """Return every row that is known, in the order of the paper's table."""
    document = json.loads(files("tripleshot.experiments").joinpath("published.json").read_text(encoding="utf-8"))
    return tuple(_read(row, document["sources"][row["source"]]) for row in document["rows"])


def published_for(dataset: str, shots: int) -> list[Published]:
    """Return the rows about a dataset, by its name in the catalog, and a number of examples."""
    return [row for row in all_published() if (row.dataset, row.shots) == (dataset, shots)]


def _read(row: dict[str, Any], source: dict[str, str]) -> Published:
    return Published(
        row["dataset"],
        row["shots"],
        row["name"],
        row["method"],
        source["title"],
        source["where"],
        {name: row[name] for name in METRICS if name in row},
        row.get("settings", {}),
        row.get("comparable", True),
        row.get("note", ""),
    )
