"""A dataset as a notebook shows it: its background, and the tasks of each split."""

from typing import TYPE_CHECKING

from tripleshot.graph.graph_html import graph_sizes
from tripleshot.markup import Markup, block, escape, heading, name, note, paragraph, table

if TYPE_CHECKING:
    from tripleshot.datasets.dataset import FewShotDataset, Task

MAX_TASKS = 6  # of a split that are named
MAX_NOTES = 10


def dataset_html(dataset: "FewShotDataset") -> str:
    """Lay out a dataset."""
    splits = (("train", dataset.train), ("valid", dataset.valid), ("test", dataset.test))
    rows = [
        (split, f"{len(tasks):,}", f"{sum(len(task.pairs) for task in tasks):,}", _names(tasks))
        for split, tasks in splits
    ]
    notes = [note(text) for text in dataset.notes[:MAX_NOTES]]
    rest = len(dataset.notes) - len(notes)
    return block(
        heading(name(dataset.name)),
        paragraph(f"background: {graph_sizes(dataset.graph)}"),
        table(("split", "tasks", "triples", "relations"), rows, right=(1, 2)),
        *notes,
        *([note(f"and {rest:,} more notes")] if rest else []),
    )


def _names(tasks: "tuple[Task, ...]") -> Markup:
    shown = [name(task.label or task.name, task.name) for task in tasks[:MAX_TASKS]]
    rest = len(tasks) - len(shown)
    return Markup(", ".join([*shown, *([escape(f"and {rest:,} more")] if rest else [])]))
