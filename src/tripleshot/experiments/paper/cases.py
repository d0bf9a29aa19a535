"""The paper's case study: RSCL and FAAN on each test relation, with the number of neighbors of its examples."""

from dataclasses import dataclass
from typing import Any

from tripleshot.answering.plots import without_namespaces
from tripleshot.datasets.dataset import LONG_TAIL_NEIGHBORS, FewShotDataset, Task
from tripleshot.experiments.figures import COLORS, SeriesStyle, draw_dot_plot
from tripleshot.experiments.paper.report import PRINTED, Claim, Picture, Report, Table, format_value
from tripleshot.experiments.paper.results import PaperResults, find_missing, format_mean, result_notes, seed_mean
from tripleshot.experiments.paper.values import printed_rows
from tripleshot.files.atomic import write_figure

METHODS = {"rscl": "RSCL", "faan": "FAAN"}
METRICS = {"mrr": "MRR", "hits@10": "Hits@10"}


@dataclass(frozen=True)
class Neighbors:
    """Mean number of distinct neighbors of the examples' heads and tails."""

    heads: float
    tails: float

    @property
    def is_long_tailed(self) -> bool:
        """At least one side has ten or fewer, as in the paper's first ten rows."""
        return min(self.heads, self.tails) <= LONG_TAIL_NEIGHBORS


def count_neighbors(dataset: FewShotDataset, task: Task, shots: int) -> Neighbors:
    """Count the neighbors of a relation's examples."""
    heads, tails = dataset.graph.num_neighbors[task.support(shots)].mean(axis=0).tolist()
    return Neighbors(heads, tails)


def cases_report(collected: PaperResults, shots: int = 5) -> Report:
    """Make the table and the figure of both methods on each test relation."""
    dataset = collected.dataset
    neighbors = {task.name: count_neighbors(dataset, task, shots) for task in dataset.test}
    found = {label: collected.main.of(label, shots) for label in METHODS}
    values = {
        label: {name: seed_mean(results, "relations", name, "mrr") for name in neighbors}
        for label, results in found.items()
    }
    names = short_names(dataset)
    return Report(
        "cases",
        "Relation by relation",
        ("Neighbors are the mean number of distinct neighbors of the heads and tails of the relation's examples.",),
        (_table(collected, names, shots), _neighbors_table(collected, names, neighbors, shots)),
        (_picture(names, values),) if all(found.values()) else (),
        (_claim(neighbors, values),),
        find_missing(collected.main, [(label, shots) for label in METHODS], "main", collected.arguments),
        {
            name: {
                "heads": counts.heads,
                "tails": counts.tails,
                **{label: values[label][name] for label in METHODS},
            }
            for name, counts in neighbors.items()
        },
    )


def short_names(dataset: FewShotDataset) -> list[str]:
    """Return the names of the test relations, without namespaces unless two of them would be equal."""
    names = [task.label or task.name for task in dataset.test]
    plain = [without_namespaces(name, 0) for name in names]
    return plain if len(set(plain)) == len(names) else names


def _table(collected: PaperResults, names: list[str], shots: int) -> Table:
    printed = {row["relation"]: row for row in printed_rows("cases", collected.dataset.name)}
    columns = [f"{name}, {method}" for name in METRICS.values() for method in METHODS.values()]
    headings = ("relation", *(heading for name in columns for heading in (name, PRINTED)))
    rows = tuple(
        (name, *_cells(collected, task, printed.get(task.name, {}), shots))
        for name, task in zip(names, collected.dataset.test, strict=True)
    )
    notes = result_notes(collected.main.of(label, shots) for label in METHODS)
    return Table(f"{shots}-shot", headings, rows, notes).without_empty()


def _neighbors_table(collected: PaperResults, names: list[str], neighbors: dict[str, Neighbors], shots: int) -> Table:
    printed = {row["relation"]: row for row in printed_rows("cases", collected.dataset.name)}
    rows = []
    for name, (relation, counts) in zip(names, neighbors.items(), strict=True):
        theirs, cells = printed.get(relation, {}), [name]
        for side, count in (("heads", counts.heads), ("tails", counts.tails)):
            cells += [f"{count:,.1f}", f"{theirs[side]:,.1f}" if side in theirs else format_value(None)]
        rows.append(tuple(cells))
    headings = ("relation", "heads' neighbors", PRINTED, "tails' neighbors", PRINTED)
    return Table(f"the {shots} examples of each", headings, tuple(rows)).without_empty()


def _cells(collected: PaperResults, task: Task, theirs: dict[str, Any], shots: int) -> list[str]:
    cells = []
    for metric in METRICS:
        for label in METHODS:
            ours = format_mean(collected.main.of(label, shots), "relations", task.name, metric)
            cells += [ours, format_value(theirs.get(label, {}).get(metric))]
    return cells


def _picture(names: list[str], values: dict[str, dict[str, float | None]]) -> Picture:
    series = {METHODS[label]: list(of_relations.values()) for label, of_relations in values.items()}
    styles = {"RSCL": SeriesStyle(COLORS[0], "-", "o"), "FAAN": SeriesStyle(COLORS[1], "--", "s")}
    drawn = draw_dot_plot(names, series, styles, "test MRR")
    return Picture("cases", "Test MRR of RSCL and FAAN on each relation.", lambda path: write_figure(drawn, path))


def _claim(neighbors: dict[str, Neighbors], values: dict[str, dict[str, float | None]]) -> Claim:
    text = "RSCL beats FAAN on most relations whose examples have long-tailed entities."
    pairs = [
        (values["rscl"][name], values["faan"][name]) for name, counts in neighbors.items() if counts.is_long_tailed
    ]
    known = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    if not known:
        return Claim(text, "not known yet")
    better = sum(ours > theirs for ours, theirs in known)
    return Claim(text, "held" if 2 * better > len(known) else "not held", f"On {better} of {len(known)}, by MRR.")
