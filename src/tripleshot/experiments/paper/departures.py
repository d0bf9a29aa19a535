"""Where we depart from the paper, and why: data, shown on the page and in the docs."""

import json
from functools import cache
from importlib.resources import files

from tripleshot.experiments.paper.report import Table


@cache
def departures() -> Table:
    """Return every departure with what the paper says, what is done here, and why."""
    rows = json.loads(files("tripleshot.experiments.paper").joinpath("deviations.json").read_text(encoding="utf-8"))
    keys = ("topic", "paper", "here", "why")
    return Table(
        "What differs from the paper, and why", ("", *keys[1:]), tuple(tuple(row[k] for k in keys) for row in rows)
    )
