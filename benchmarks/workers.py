"""Answering many heads: one worker process and two, side by side, with the same bytes as a result.

Heads are entities at random, the same one perhaps several times. The examples are those of the test task with the
fewest candidates. Heads per second count from the first finished partition on: what each worker opens before it, it
opens once for any number of heads; "whole" has that, too. With --alone one worker answers only the first of the heads,
and its files are compared with the first of the others. With --ray a cluster of two nodes on this machine answers as
well, and one node is killed when half is done. With --minutes a few heads are answered first, and no more are taken
than fit into the time.

    python benchmarks/workers.py --heads 1000000 --alone 100000 --partition-size 5000 --ray --minutes 20
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
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from measuring import SHOTS, describe_machine
from tripleshot.answering.asking import Asking
from tripleshot.answering.loading import open_predictor
from tripleshot.answering.manifest import MANIFEST
from tripleshot.answering.partitions import answer_in_partitions
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.evaluation.results import write_json
from tripleshot.files.checksums import hash_file
from tripleshot.workers.processes import run_in_processes
from tripleshot.workers.ray_cluster import run_on_cluster
from tripleshot.workers.work import Crew

PILOT = 20_000  # heads that tell how long others will take
TWO, KILLED = 0.7, 1.0  # times that one worker takes, with room: half, and three quarters if one ends at half
ONE, BOTH, NODES = "1 worker", "2 workers", "2 nodes of Ray, one killed"


class Clock:
    """Notes when how many heads were answered; calls something once when half of them are."""

    def __init__(self, at_half: Callable[[], None] | None = None) -> None:
        self.reports: list[tuple[float, int]] = []
        self.at_half, self.half = at_half, 0

    def __call__(self, done: int, total: int) -> None:
        """Note a report."""
        self.reports.append((time.perf_counter(), done))
        if self.at_half and 2 * done >= total:
            self.at_half()
            self.at_half, self.half = None, done

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
    figures = {"heads": len(heads), "heads_per_second": clock.heads_per_second(), "whole_seconds": seconds}
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
        figures = measure(asking, heads, folder, partial(run_on_cluster, address=cluster.address), size, clock)
        del figures["processor_seconds"]  # Ray's processes are none of this one's children
        return figures | {"killed_after_heads": clock.half}
    finally:
        cluster.shutdown()


def check_equal(folder: Path, names: list[str]) -> None:
    """Compare the files of all, to the last byte; one worker may have answered the first partitions alone."""
    everything = hashes(folder / BOTH)
    for name in names:
        found = hashes(folder / name)
        if name == ONE and len(found) < len(everything):
            del found[MANIFEST]  # of fewer heads
            assert found.items() <= everything.items(), f"{name}: answers are not equal"
        else:
            assert found == everything, f"{name}: answers are not equal"


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file."""
    return {path.name: hash_file(path) for path in folder.iterdir()}


def speed_up(figures: dict[str, dict[str, float]]) -> float:
    """Return how many times the heads of one worker two answer in the same time."""
    return figures[BOTH]["heads_per_second"] / figures[ONE]["heads_per_second"]


def show(figures: dict[str, dict[str, float]], title: str) -> None:
    """Print a row for each crew, and how much faster two workers are than one."""
    table = Table("answered by", "heads", "heads/s", "whole s", "processor s", title=title)
    for name, row in figures.items():
        cells = (row[key] for key in ("heads_per_second", "whole_seconds", "processor_seconds") if key in row)
        table.add_row(name, f"{row['heads']:,}", *(f"{cell:,.1f}" for cell in cells))
    Console().print(table)
    Console().print(
        f"two workers: {speed_up(figures):.2f} times the heads of one in the same time; all files are equal"
    )


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="nell-one", help="a dataset of the catalog, or a folder")
    parser.add_argument("--method", help="one that needs no training; the universal weights by default")
    parser.add_argument("--heads", type=int, default=100_000)
    parser.add_argument("--alone", type=int, default=0, help="heads that one worker answers; all by default")
    parser.add_argument("--partition-size", type=int, default=1000)
    parser.add_argument("--ray", action="store_true", help="also on a Ray cluster of two nodes, one of which is killed")
    parser.add_argument("--minutes", type=float, help="for everything together; fewer heads if they take longer")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    dataset, size = load_dataset(arguments.data), arguments.partition_size
    asking, num_candidates = cheapest_question(dataset, arguments.data, arguments.method)
    rng, count, alone = np.random.default_rng(0), arguments.heads, arguments.alone
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if arguments.minutes:
            pilot = rng.integers(dataset.graph.num_entities, size=min(count, PILOT)).tolist()
            crew = partial(run_in_processes, num_workers=1)
            tried = measure(asking, pilot, folder / "pilot", crew, max(len(pilot) // 10, 1), Clock())
            left = (60 * arguments.minutes - tried["whole_seconds"]) * tried["heads_per_second"]
            times = TWO + (KILLED if arguments.ray else 0)
            fit = (left - alone) / times if alone else left / (1 + times)
            count = min(count, max(size, int(fit)))
        heads = rng.integers(dataset.graph.num_entities, size=count).tolist()
        first = heads[: min(alone, count) // size * size] or heads
        figures = {}
        for workers, name, some in ((1, ONE, first), (2, BOTH, heads)):
            crew = partial(run_in_processes, num_workers=workers)
            figures[name] = measure(asking, some, folder / name, crew, size, Clock())
        if arguments.ray:
            figures[NODES] = on_two_nodes(asking, heads, folder / NODES, size)
        check_equal(folder, [*figures])
        num_answers = sum(pq.read_metadata(path).num_rows for path in (folder / BOTH).glob("*.parquet"))
    show(figures, f"{count:,} heads on {dataset.name}, {len(os.sched_getaffinity(0))} cores")
    if arguments.json:
        asked = {"data": dataset.name, "heads": count, "asked_for": arguments.heads, "partition_size": size}
        asked |= {"different_heads": len(set(heads)), "candidates": num_candidates}
        found = {"answers": num_answers, "files_are_equal": True, "speed_up": speed_up(figures)}
        write_json({**describe_machine(), **asked, **found, "figures": figures}, arguments.json)


def cheapest_question(dataset: FewShotDataset, source: str, method: str | None) -> tuple[Asking, int]:
    """Return the examples of the test task that has the fewest candidates, and how many."""
    predictor, names = open_predictor(source, method), dataset.graph.entities

    def num_candidates(task: Task) -> int:
        return len(predictor.candidates_for(predictor.question(task.support(SHOTS).tolist()), "open"))

    counts = [num_candidates(task) for task in dataset.test]
    support = dataset.test[int(np.argmin(counts))].support(SHOTS).tolist()
    pairs = tuple((names.name(head), names.name(tail)) for head, tail in support)
    return Asking(source, pairs, method=method), min(counts)


if __name__ == "__main__":
    main()
