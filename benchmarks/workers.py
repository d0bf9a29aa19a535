"""Answering many heads: one worker process and two, side by side, with the same bytes as a result.

Heads are entities at random, the examples are those of the first test task. Heads per second count from the first
finished partition on: what each worker opens before it, it opens once for any number of heads; "whole" has that, too.
With --ray a cluster of two nodes on this machine answers as well, and one node is killed when half is done.

    python benchmarks/workers.py --json results/benchmarks/workers.json
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from measuring import SHOTS, describe_machine
from tripleshot.answering.asking import Asking
from tripleshot.answering.partitions import answer_in_partitions
from tripleshot.datasets.catalog import load_dataset
from tripleshot.evaluation.results import write_json
from tripleshot.files.checksums import hash_file
from tripleshot.workers.processes import run_in_processes
from tripleshot.workers.ray_cluster import run_on_cluster
from tripleshot.workers.work import Crew


class Clock:
    """Notes when how many heads were answered; calls something once when half of them are."""

    def __init__(self, at_half: Callable[[], None] | None = None) -> None:
        self.reports: list[tuple[float, int]] = []
        self.at_half = at_half

    def __call__(self, done: int, total: int) -> None:
        """Note a report."""
        self.reports.append((time.perf_counter(), done))
        if self.at_half and 2 * done >= total:
            self.at_half()
            self.at_half = None

    def heads_per_second(self) -> float:
        """Return the rate from the first finished partition to the last."""
        finished = [report for report in self.reports if report[1]]
        (first, before), (last, done) = finished[0], finished[-1]
        return (done - before) / max(last - first, 1e-9)


def measure(asking: Asking, heads: list[int], folder: Path, crew: Crew, size: int, clock: Clock) -> dict[str, float]:
    """Answer all heads into a folder."""
    started, before = time.perf_counter(), _children_seconds()
    answer_in_partitions(asking, heads, folder, crew, partition_size=size, progress=clock)
    seconds = time.perf_counter() - started
    figures = {"heads_per_second": clock.heads_per_second(), "whole_seconds": seconds}
    return figures | {"processor_seconds": _children_seconds() - before}


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def on_two_nodes(asking: Asking, heads: list[int], folder: Path, size: int) -> dict[str, float]:
    """Answer on a Ray cluster of two nodes with a core each, one of which is killed when half is done."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1)
        clock = Clock(lambda: cluster.remove_node(node, allow_graceful=False))
        return measure(asking, heads, folder, partial(run_on_cluster, address=cluster.address), size, clock)
    finally:
        cluster.shutdown()


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file."""
    return {path.name: hash_file(path) for path in folder.iterdir()}


def show(figures: dict[str, dict[str, float]], title: str) -> None:
    """Print a row for each crew, and how much faster two workers are than one."""
    table = Table("answered by", "heads/s", "whole s", "processor s", title=title)
    for name, row in figures.items():
        cells = (row["heads_per_second"], row["whole_seconds"], row["processor_seconds"])
        table.add_row(name, *(f"{cell:,.1f}" for cell in cells))
    Console().print(table)
    one, two = (figures[name]["heads_per_second"] for name in ("1 worker", "2 workers"))
    spent = figures["2 workers"]["processor_seconds"] / figures["1 worker"]["processor_seconds"]
    Console().print(f"two workers: {two / one:.2f} times the heads of one in the same time; all files are equal")
    Console().print(f"they took {spent:.2f} times the processor time, what each has opened included")


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="nell-one", help="a dataset of the catalog, or a folder")
    parser.add_argument("--method", help="one that needs no training; the universal weights by default")
    parser.add_argument("--heads", type=int, default=100_000)
    parser.add_argument("--partition-size", type=int, default=1000)
    parser.add_argument("--ray", action="store_true", help="also on a Ray cluster of two nodes, one of which is killed")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    dataset, size = load_dataset(arguments.data), arguments.partition_size
    names = dataset.graph.entities
    pairs = [(names.name(head), names.name(tail)) for head, tail in dataset.test[0].support(SHOTS).tolist()]
    asking = Asking(arguments.data, tuple(pairs), method=arguments.method)
    heads = np.random.default_rng(0).integers(dataset.graph.num_entities, size=arguments.heads).tolist()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as made:
        folders = []
        for count, name in ((1, "1 worker"), (2, "2 workers")):
            folders.append(Path(made) / name)
            crew = partial(run_in_processes, num_workers=count)
            figures[name] = measure(asking, heads, folders[-1], crew, size, Clock())
        if arguments.ray:
            folders.append(Path(made) / "ray")
            figures["2 nodes of Ray, one killed"] = on_two_nodes(asking, heads, folders[-1], size)
        assert all(hashes(folder) == hashes(folders[0]) for folder in folders), "answers are not equal"
    show(figures, f"{arguments.heads:,} heads on {dataset.name}, {len(os.sched_getaffinity(0))} cores")
    if arguments.json:
        asked = {"data": dataset.name, "heads": arguments.heads, "partition_size": size}
        write_json({**describe_machine(), **asked, "figures": figures}, arguments.json)


if __name__ == "__main__":
    main()
