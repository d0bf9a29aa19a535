"""The paper's dataset table, and its first figure: how many entities have how many direct neighbors."""

from dataclasses import asdict

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.statistics import Statistics, describe_dataset
from tripleshot.experiments.figures import draw_neighbor_histogram
from tripleshot.experiments.paper.report import NONE, Picture, Report, Table
from tripleshot.experiments.paper.values import printed_rows

HEADINGS = ("", "entities", "relations", "train tasks", "test tasks", "valid tasks", "with one neighbor")


def datasets_report(dataset: FewShotDataset) -> Report:
    """Make the table of sizes, next to the printed ones, and the figure."""
    found = describe_dataset(dataset)
    rows = (_measured(found), *(_printed(row) for row in printed_rows("datasets", dataset.name)))
    text = (
        f"The background graph has {found.triples:,} triples. {found.few_neighbors:.1%} of all entities have fewer "
        f"than ten distinct neighbors in it and count as long-tailed; {found.no_neighbor:.1%} have none."
    )
    caption = "Number of entities by their number of distinct direct neighbors, in both directions (figure 1)."
    pictures = (Picture("neighbors", caption, lambda path: draw_neighbor_histogram(dataset, path)),)
    return Report(
        "datasets",
        "The dataset",
        (text,),
        (Table(dataset.name, HEADINGS, rows),),
        pictures if found.triples else (),
        data=asdict(found),
    )


def _measured(found: Statistics) -> tuple[str, ...]:
    tasks = (found.tasks["train"], found.tasks["test"], found.tasks["valid"])
    counts = (found.entities, found.background_relations + sum(tasks), *tasks)
    return "here", *(f"{count:,}" for count in counts), f"{found.one_neighbor:.1%}"


def _printed(row: dict[str, float]) -> tuple[str, ...]:
    counts = (row[key] for key in ("entities", "relations", "train", "test", "valid"))
    share = f"{row['one_neighbor']:.1%}" if "one_neighbor" in row else NONE
    return "printed", *(f"{count:,}" for count in counts), share
