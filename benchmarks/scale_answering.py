"""A graph of Wiki-One's size, asked: how long its indexes take to build, one `ask` and the start of `serve` after that.

`evidence` needs no training; `evidence-net` has untrained weights, which cost as much as trained ones. Commands are
measured as a user meets them, in a process of their own. `scale.py` has the dataset and the memory of training.

    python benchmarks/scale_answering.py --data FOLDER --json results/benchmarks/scale-answering.json
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from measuring import SHOTS, describe_machine
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.results import write_json
from tripleshot.methods import create_method, settings_of
from tripleshot.methods.trainable import TrainableMethod
from tripleshot.training.checkpoints import save_weights
from tripleshot.training.runs import RunConfig, save_config, save_names

METHODS = ("evidence", "evidence-net")
REPEATS = 5
NUM_ANSWERS = 40
MIB = 2**20
WAIT = 300  # seconds for a server at most
PROGRAM = [sys.executable, "-m", "tripleshot"]
BUILD = """
import json, resource, sys, time
from tripleshot.datasets.catalog import load_dataset
from tripleshot.graph.index_files import list_indexes
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
seconds, started = {}, time.perf_counter()
def done(name):
    global started
    seconds[name] = round(time.perf_counter() - started, 2)
    started = time.perf_counter()
graph = load_dataset(sys.argv[1]).graph
done("dataset")
graph.adjacency
done("adjacency")
PairIndex(graph)
done("pairs")
RelationProfiles(graph)
done("profiles")
graph.entities.id(graph.entities.name(0))
done("names")
kept = sum(index.num_bytes for index in list_indexes())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "bytes": kept, "peak_bytes": peak}))
"""

COMMAND = """
import json, os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds, failed = time.perf_counter() - started, os.waitstatus_to_exitcode(status)
cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
print(json.dumps({"failed": failed, "seconds": seconds, "cpu_seconds": cpu, "peak_bytes": peak}))
"""  # a process of its own, and a small one: the peak memory of a command starts from that of whoever runs it

ANSWER = """
import json, resource, sys, time
import numpy as np
import tripleshot as ts
predictor = ts.load(sys.argv[1])
dataset = predictor.dataset
task = max(dataset.test, key=lambda task: len(dataset.candidates(task)))
support, candidates, seconds = task.support(5), dataset.candidates(task), []
for head in np.unique(task.queries(5)[:, 0])[: int(sys.argv[2])].tolist():
    started = time.perf_counter()
    predictor.method.score(support, head, candidates)
    seconds.append(time.perf_counter() - started)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
p50, most = np.median(seconds[1:]), max(seconds[1:])
print(json.dumps({"candidates": len(candidates), "first": seconds[0], "p50": p50, "most": most, "peak_bytes": peak}))
"""

Figures = dict[str, Any]


def measure_indexes(folder: Path) -> dict[str, Figures]:
    """Build all indexes of a dataset in an empty cache, then open them again."""
    figures = {}
    for turn in ("built", "opened"):
        command = [sys.executable, "-c", BUILD, str(folder)]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        figures[turn] = {
            "seconds": found["seconds"],
            "mib_on_disk": round(found["bytes"] / MIB),
            "peak_mib": round(found["peak_bytes"] / MIB),
        }
    return figures


def make_run(name: str, dataset: FewShotDataset, folder: Path, run: Path) -> None:
    """Write a run of a method that was not trained."""
    method = create_method(name)
    method.prepare(dataset, SHOTS)
    kept = (name, settings_of(method), SHOTS, str(folder), dataset.name, dataset.content_hash, "", None)
    save_config(RunConfig(*kept), run)
    save_names(method.graph, run)
    if isinstance(method, TrainableMethod):
        save_weights(method.module, run)


def make_question(dataset: FewShotDataset) -> list[str]:
    """Return the options that ask about the task with most candidates."""
    task = max(dataset.test, key=lambda task: len(dataset.candidates(task)))
    names = [[dataset.graph.entities.name(int(entity)) for entity in pair] for pair in task.pairs[: SHOTS + 1]]
    examples = [word for head, tail in names[:SHOTS] for word in ("--example", f"{head} | {tail}")]
    return [*examples, "--head", names[SHOTS][0]]


def measure_ask(run: Path, question: list[str]) -> Figures:
    """Ask about one head: the whole command, from the shell's point of view."""
    turns = []
    for _ in range(REPEATS):
        command = [sys.executable, "-c", COMMAND, *PROGRAM, "ask", str(run), *question]
        turns.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    if any(turn["failed"] for turn in turns):
        raise SystemExit("the question was not answered")
    return {
        "seconds": round(min(turn["seconds"] for turn in turns), 2),
        "all_seconds": [round(turn["seconds"], 2) for turn in turns],
        "cpu_seconds": round(min(turn["cpu_seconds"] for turn in turns), 2),
        "peak_mib": round(max(turn["peak_bytes"] for turn in turns) / MIB),
    }


def measure_answers(run: Path) -> Figures:
    """Score all candidates of the largest task, head by head, in one process."""
    command = [sys.executable, "-c", ANSWER, str(run), str(NUM_ANSWERS)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    times = {f"{name}_ms": round(1000 * found[name], 1) for name in ("first", "p50", "most")}
    return {"candidates": found["candidates"], **times, "peak_mib": round(found["peak_bytes"] / MIB)}


def measure_serve(run: Path) -> Figures:
    """Start the server and wait until it says that it is well; it goes on to prepare its search then."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = time.perf_counter()
    process = subprocess.Popen([*PROGRAM, "serve", str(run), "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        while not _is_well(port):
            if process.poll() is not None or time.perf_counter() - started > WAIT:
                raise SystemExit("the server did not start")
            time.sleep(0.02)
        seconds, peak = time.perf_counter() - started, _peak_of(process)
    finally:
        process.terminate()
        process.wait()
    return {"seconds": round(seconds, 2), "peak_mib": peak}


def _is_well(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _peak_of(process: subprocess.Popen) -> int:
    """Return the peak memory of a running process in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def show(figures: dict[str, Any]) -> Table:
    """Return a row for each command."""
    table = Table("", "seconds", "peak MiB")
    for turn, figure in figures["indexes"].items():
        table.add_row(f"indexes {turn}", f"{sum(figure['seconds'].values()):.1f}", f"{figure['peak_mib']:,}")
    for method in METHODS:
        found = figures[method]
        for name in ("ask", "serve"):
            table.add_row(f"{name}, {method}", f"{found[name]['seconds']:.2f}", f"{found[name]['peak_mib']:,}")
        answers = found["answers"]
        about = f"one answer of {answers['candidates']:,} candidates, {method}, p50"
        table.add_row(about, f"{answers['p50_ms'] / 1000:.3f}", f"{answers['peak_mib']:,}")
    return table


def main() -> None:
    """Measure in a cache of its own, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of a dataset, such as `scale.py` makes")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    folder = arguments.data.resolve()
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        os.environ["TRIPLESHOT_HOME"] = str(Path(temporary) / "cache")
        figures: dict[str, Any] = {"indexes": measure_indexes(folder)}
        dataset = load_dataset(str(folder))
        question = make_question(dataset)
        for method in METHODS:
            run = Path(temporary) / method
            make_run(method, dataset, folder, run)
            figures[method] = {
                "ask": measure_ask(run, question),
                "serve": measure_serve(run),
                "answers": measure_answers(run),
            }
    Console().print(show(figures))
    if arguments.json:
        manifest = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
        graph = {name: manifest[name] for name in ("entities", "relations", "triples")}
        about = {"data_hash": manifest["data_hash"], "graph": graph, "shots": SHOTS}
        write_json(describe_machine() | about | {"figures": figures}, arguments.json)


if __name__ == "__main__":
    main()
