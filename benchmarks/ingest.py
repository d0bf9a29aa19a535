"""Read a graph of Wiki-One's size: `tripleshot.read_graph` and PyKEEN's `TriplesFactory.from_path`, side by side.

Both read the same TSV in the same run, each in a process of its own, so that peak memory is that of one reader. Ours
includes the neighbors of every entity in both directions, which the factory does not have.

    python benchmarks/ingest.py --json results/benchmarks/ingest.json
"""

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tripleshot.evaluation.results import commit

NUM_ENTITIES, NUM_RELATIONS, NUM_TRIPLES = 4_838_244, 822, 5_859_240
SEED = 0
PACKAGES = ("tripleshot", "numpy", "pyarrow", "pykeen", "torch", "pandas")


def write_graph(path: Path) -> None:
    """Write distinct triples in which every entity occurs and a few occur very often."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    generator = np.random.default_rng(SEED)
    popular = NUM_ENTITIES * generator.random(2 * NUM_TRIPLES - NUM_ENTITIES) ** 3
    ends = generator.permutation(np.concatenate([np.arange(NUM_ENTITIES), popular.astype(np.int64)]))
    heads, tails = ends[:NUM_TRIPLES], ends[NUM_TRIPLES:]
    frequent = NUM_RELATIONS * generator.random(NUM_TRIPLES - NUM_RELATIONS) ** 3
    relations = generator.permutation(np.concatenate([np.arange(NUM_RELATIONS), frequent.astype(np.int64)]))
    repeated = np.ones(NUM_TRIPLES, dtype=bool)
    while repeated.any():
        keys = (heads * NUM_RELATIONS + relations) * NUM_ENTITIES + tails
        repeated[:] = True
        repeated[np.unique(keys, return_index=True)[1]] = False
        relations[repeated] = generator.integers(NUM_RELATIONS, size=repeated.sum())
    numbers = generator.choice(10 * NUM_ENTITIES, size=NUM_ENTITIES, replace=False)
    columns = [("Q", numbers[heads]), ("P", relations), ("Q", numbers[tails])]
    names = [pc.binary_join_element_wise(letter, pa.array(ids).cast(pa.string()), "") for letter, ids in columns]
    options = pa.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    unfinished = path.with_suffix(".part")
    pa.csv.write_csv(pa.table(names, names=["head", "relation", "tail"]), unfinished, options)
    unfinished.rename(path)


def read_ours(path: Path) -> tuple[float, int, int, int]:
    """Read to a graph with its neighbors; return seconds and the numbers of entities, relations and triples."""
    from tripleshot.graph.readers import read_graph

    start = time.perf_counter()
    graph = read_graph(path)
    _ = graph.adjacency
    return time.perf_counter() - start, graph.num_entities, graph.num_relations, graph.num_triples


def read_pykeen(path: Path) -> tuple[float, int, int, int]:
    """Read to a factory; return seconds and the numbers of entities, relations and triples."""
    from pykeen.triples import TriplesFactory  # type: ignore[missing-import]

    start = time.perf_counter()
    factory = TriplesFactory.from_path(path)
    return time.perf_counter() - start, factory.num_entities, factory.num_relations, factory.num_triples


def run_step(step: str, path: Path) -> None:
    """Do one step in this process and print its figures as JSON."""
    if step == "write":
        write_graph(path)
        return
    seconds, *sizes = read_ours(path) if step == "tripleshot" else read_pykeen(path)
    if sizes != [NUM_ENTITIES, NUM_RELATIONS, NUM_TRIPLES]:
        raise SystemExit(f"{step} read {sizes} entities, relations and triples from {path}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mib": peak, "triples_per_second": NUM_TRIPLES / seconds}))


def in_process(step: str, path: Path) -> str:
    """Run one step in a new process; this one stays small, for a child's peak starts from its parent's."""
    command = [sys.executable, __file__, "--step", step, "--data", str(path.parent)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def best_of(step: str, path: Path, repeats: int) -> dict[str, float]:
    """Return the figures of the fastest of several runs."""
    runs = [json.loads(in_process(step, path).splitlines()[-1]) for _ in range(repeats)]
    return min(runs, key=lambda run: run["seconds"])


def show(figures: dict[str, dict[str, float]]) -> None:
    """Print one row per reader and their ratio."""
    table = Table("reader", "seconds", "peak MiB", "triples/s", title=f"{NUM_TRIPLES:,} triples from TSV")
    for column in table.columns[1:]:
        column.justify = "right"
    for reader, run in figures.items():
        table.add_row(reader, f"{run['seconds']:.1f}", f"{run['peak_mib']:,.0f}", f"{run['triples_per_second']:,.0f}")
    ours, theirs = figures["tripleshot"], figures["pykeen"]
    ratios = [theirs[key] / ours[key] for key in ("seconds", "peak_mib")]
    table.add_row("pykeen / tripleshot", *(f"{ratio:.1f}" for ratio in ratios), "")
    Console().print(table)


def describe_run() -> dict[str, object]:
    """Return the command, the machine and the versions behind the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "command": shlex.join(["python", "benchmarks/ingest.py", *sys.argv[1:]]),
        "commit": commit(),
        "machine": {"cores": os.cpu_count(), "memory_gib": round(memory, 1), "processor": platform.machine()},
        "versions": {"python": platform.python_version()} | {package: version(package) for package in PACKAGES},
        "graph": {"entities": NUM_ENTITIES, "relations": NUM_RELATIONS, "triples": NUM_TRIPLES, "seed": SEED},
    }


def main() -> None:
    """Write the graph unless it is there, read it with both, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()), help="where the TSV is kept")
    parser.add_argument("--repeats", type=int, default=2, help="runs of ours; the fastest counts")
    parser.add_argument("--pykeen-repeats", type=int, default=1, help="runs of PyKEEN; the fastest counts")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--step", choices=["write", "tripleshot", "pykeen"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    path = arguments.data / f"wiki-one-size-{SEED}.tsv"
    if arguments.step:
        run_step(arguments.step, path)
        return
    if find_spec("pykeen") is None:
        raise SystemExit("the comparison needs PyKEEN: pip install pykeen")
    if not path.exists():
        arguments.data.mkdir(parents=True, exist_ok=True)
        in_process("write", path)
    figures = {
        "tripleshot": best_of("tripleshot", path, arguments.repeats),
        "pykeen": best_of("pykeen", path, arguments.pykeen_repeats),
    }
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(describe_run() | {"figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
