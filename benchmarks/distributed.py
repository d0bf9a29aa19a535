"""Training in one process beside two that torchrun starts: the same batches, the same result, and how much sooner.

One process takes two batches a step, each of two processes one. Every process computes with one thread. "steps/s"
counts the steps alone, "validation s" one validation, whose queries two processes share, "whole s" all from the start
of the command. "difference" is the largest between two weights at the end, as a share of the largest weight.

    python benchmarks/distributed.py --data nell-one --json results/benchmarks/distributed.json
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from safetensors import safe_open
from safetensors.numpy import load_file

from measuring import describe_machine
from tripleshot.evaluation.results import write_json
from tripleshot.training.log import LOG, read_log

SETTINGS: dict[str, list[str]] = {  # one method of each family
    "evidence-net": ["--from", "scratch"],
    "transe": [],
    "rscl": ["--pretraining-steps", "0"],
}
STEPS = {"evidence-net": 500, "transe": 500, "rscl": 10}  # some ten seconds of one process
ALONE, TOGETHER = "1 process", "2 processes"


def train(method: str, num_processes: int, data: str, steps: int, queries: int, folder: Path) -> dict[str, Any]:
    """Train by the command line, with two batches a step in all, and return what it took."""
    started = [sys.executable, "-m", "tripleshot"]
    if num_processes > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(num_processes)]
        started = [sys.executable, *launcher, "-m", "tripleshot"]
    options = {
        "steps": steps,
        "validate-every": steps,
        "checkpoint-every": steps,
        "valid-queries": queries,
        "batches-per-step": 2 // num_processes,
        "threads": 1,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [*started, "train", data, str(folder), "--method", method, *SETTINGS[method], *words]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    whole = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    rows = read_log(folder / LOG)
    seconds = max(row["seconds"] for row in rows)
    validated = [row["valid_mrr"] for row in rows if "valid_mrr" in row]
    checkpoint = load_file(folder / "checkpoint.safetensors")
    weights = {n: value for n, value in checkpoint.items() if n.startswith("module.") and value.dtype.kind == "f"}
    return {
        "steps_per_second": steps / max(seconds, 1e-9),
        "validation_seconds": _validation_seconds(folder),
        "whole_seconds": whole,
        "valid_mrr": validated[-1] if validated else None,
        "weights": weights,
    }


def _validation_seconds(folder: Path) -> float:
    """Return what the validations of a run took, as its checkpoint says."""
    with safe_open(folder / "checkpoint.safetensors", framework="np") as file:
        return float(json.loads(file.metadata()["state"])["progress"]["validating"])


def compare(method: str, data: str, steps: int, queries: int, folder: Path) -> dict[str, Any]:
    """Train in one process and in two, and return the figures of both and how far their weights are apart."""
    figures = {
        name: train(method, count, data, steps, queries, folder / f"{method}-{count}")
        for count, name in ((1, ALONE), (2, TOGETHER))
    }
    one, two = (figures[name].pop("weights") for name in (ALONE, TOGETHER))
    apart = max(float(np.abs(value - two[name]).max(initial=0)) for name, value in one.items())
    largest = max(float(np.abs(value).max(initial=0)) for value in one.values())
    sooner = figures[TOGETHER]["steps_per_second"] / figures[ALONE]["steps_per_second"]
    return {"figures": figures, "difference": apart / largest, "speed_up": sooner}


def show(measured: dict[str, dict[str, Any]], title: str) -> None:
    """Print two rows for each method."""
    table = Table("method", "trained by", "steps/s", "validation s", "whole s", "valid MRR", title=title)
    for method, found in measured.items():
        for name, row in found["figures"].items():
            times = (row["steps_per_second"], row["validation_seconds"], row["whole_seconds"])
            mrr = "" if row["valid_mrr"] is None else f"{row['valid_mrr']:.4f}"
            table.add_row(method, name, *(f"{value:,.1f}" for value in times), mrr)
    console = Console()
    console.print(table)
    for method, found in measured.items():
        console.print(f"{method}: {found['speed_up']:.2f} times the steps, difference {found['difference']:.1e}")


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="nell-one", help="a dataset of the catalog, or a folder")
    parser.add_argument("--method", action="append", choices=SETTINGS, help="may be repeated; all by default")
    parser.add_argument("--steps", type=int, help="of each training; by default as many as take some ten seconds")
    parser.add_argument("--valid-queries", type=int, default=200, help="of its one validation")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    about, measured = {"data": arguments.data, "valid_queries": arguments.valid_queries}, {}
    with tempfile.TemporaryDirectory() as made:
        for method in arguments.method or SETTINGS:
            steps = arguments.steps or STEPS[method]
            found = compare(method, arguments.data, steps, arguments.valid_queries, Path(made))
            measured[method] = {"steps": steps, **found}
            if arguments.json:
                write_json({**describe_machine(), **about, "methods": measured}, arguments.json)
    show(measured, f"{arguments.data}, {len(os.sched_getaffinity(0))} cores")


if __name__ == "__main__":
    main()
