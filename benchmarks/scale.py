"""A graph of Wiki-One's size: the memory and the time that methods need to train on it, next to PyKEEN's TransE.

A random few-shot dataset of 4.8 million entities and 5.9 million triples is made once and kept in a folder. Each
method then takes some hundred steps on it, with validations, checkpoints and a run on disk as in any training, in a
process of its own, so that peak memory is that of one method. PyKEEN learns from the same triples, its first batches.

    python benchmarks/scale.py --data FOLDER --json results/benchmarks/scale.json
"""

import argparse
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from measuring import SHOTS, describe_machine
from synthetic import WIKI_ONE, synthetic_dataset
from tripleshot.evaluation.results import write_json
from tripleshot.methods import create_method, find_method, settings_of
from tripleshot.training.checkpoints import count_weights

METHODS = ("transe", "complex", "metar", "rscl")
THEIRS = "pykeen"
VALID_QUERIES = 5
PYKEEN_STEPS = 5
MIB = 2**20

Figures = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """One part of the benchmark.

    Attributes:
        measure: works in a process of its own; given the folder of the dataset, an item and the command line, it
            returns figures, to which that process's peak memory is added.
        items: what it measures one after the other, each in a process of its own, given the command line.
        show: returns the table of all its figures, by item.
    """

    measure: Callable[[Path, str, argparse.Namespace], Figures]
    items: Callable[[argparse.Namespace], list[str]]
    show: Callable[[dict[str, Figures]], Table]


def measure_training(folder: Path, name: str, arguments: argparse.Namespace) -> Figures:
    """Train a method for some steps, from reading the dataset to the weights on disk."""
    from tripleshot.datasets.catalog import load_dataset
    from tripleshot.training.fit import train_run
    from tripleshot.training.log import describe_training

    started = time.perf_counter()
    dataset = load_dataset(str(folder))
    loaded = time.perf_counter()
    settings = short_settings(name, arguments.steps, arguments.width)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        run = Path(temporary) / "run"
        train_run(name, dataset, SHOTS, run, settings=settings)
        finished = time.perf_counter()
        steps = settings["steps"] + settings.get("pretraining_steps", 0)
        return {
            "width": settings.get("width"),
            "weights": count_weights(run),
            "steps": steps,
            "seconds_per_step": describe_training(run)["seconds"] / steps,
            "loading_seconds": loaded - started,
            "training_seconds": finished - loaded,
        }


def short_settings(name: str, steps: int, width: int) -> dict[str, Any]:
    """Return a method's usual settings for a few steps, with one checkpoint on the way and one validation at the end.

    Pre-training takes half of the steps.
    """
    settings = settings_of(create_method(name))
    known = find_method(name).setting_names()
    if "pretraining_steps" in known:
        steps //= 2
        settings["pretraining_steps"] = steps
    if "width" in known:
        settings["width"] = width
    return settings | {
        "steps": steps,
        "validate_every": steps,
        "checkpoint_every": steps // 2 + 1,
        "valid_queries": VALID_QUERIES,
    }


def measure_pykeen(folder: Path, name: str, arguments: argparse.Namespace) -> Figures:
    """Take PyKEEN's first batches of the same triples, with our settings of the same model."""
    from embedding import WARMING, time_theirs
    from tripleshot.datasets.catalog import load_dataset
    from tripleshot.datasets.negatives import collect_triples
    from tripleshot.methods.embedding.settings import DEFAULTS

    warnings.filterwarnings("ignore", module=THEIRS)
    logging.getLogger(THEIRS).setLevel(logging.ERROR)
    dataset = load_dataset(str(folder))
    settings, steps = replace(DEFAULTS[name], width=arguments.width), PYKEEN_STEPS
    seconds = time_theirs(name, settings, collect_triples(dataset, SHOTS), dataset.graph.num_entities, steps)
    return {"width": settings.width, "steps": steps, "warming_steps": WARMING, "seconds_per_step": seconds / steps}


def show_training(figures: dict[str, Figures]) -> Table:
    """Return one row per method."""
    table = Table("method", "width", "steps", "s a step", "whole training, s", "peak MiB", title="Training")
    for name, figure in figures.items():
        whole = f"{figure['training_seconds']:.0f}" if "training_seconds" in figure else ""
        numbers = (str(figure["width"]), str(figure["steps"]), f"{figure['seconds_per_step']:.3f}", whole)
        table.add_row(name, *numbers, f"{figure['peak_mib']:,.0f}")
    return table


SECTIONS = {
    "training": Section(measure_training, lambda arguments: arguments.methods, show_training),
    "pykeen": Section(measure_pykeen, lambda arguments: ["transe"], show_training),
}


def make_data(folder: Path, sizes: tuple[int, int, int]) -> None:
    """Make the dataset and write it, whole or not at all."""
    synthetic_dataset(*sizes, name=folder.name).save(folder)


def in_process(step: str) -> str:
    """Do one step of this command in a new process; this one stays small, for a child's peak starts from its parent's.

    Returns:
        the last line that it prints.
    """
    command = [sys.executable, __file__, *sys.argv[1:], "--step", step]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip().rpartition("\n")[2]


def run_step(step: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Do one step in this process and print its figures as JSON."""
    if step == "data":
        make_data(folder, (arguments.entities, arguments.triples, arguments.relations))
        return
    section, _, item = step.partition(":")
    figures = SECTIONS[section].measure(folder, item, arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
    print(json.dumps(figures | {"peak_mib": round(peak, 1)}))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()), help="where the dataset is kept")
    parser.add_argument("--entities", type=int, default=WIKI_ONE[0])
    parser.add_argument("--triples", type=int, default=WIKI_ONE[1])
    parser.add_argument("--relations", type=int, default=WIKI_ONE[2])
    parser.add_argument("--sections", nargs="+", choices=[*SECTIONS], default=[*SECTIONS])
    parser.add_argument("--methods", nargs="+", default=[*METHODS], help="to train")
    parser.add_argument("--steps", type=int, default=300, help="of each training")
    parser.add_argument("--width", type=int, default=100, help="of the embeddings; ComplEx has twice as many numbers")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Make the dataset unless it is there, measure section by section, print and store the figures."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    folder = arguments.data / f"synthetic-{arguments.entities}-{arguments.triples}-{arguments.relations}"
    if arguments.step:
        run_step(arguments.step, folder, arguments)
        return
    if "pykeen" in arguments.sections and find_spec(THEIRS) is None:
        raise SystemExit("the comparison needs PyKEEN: pip install 'tripleshot[pykeen]'")
    if not folder.exists():
        in_process("data")
    figures: dict[str, dict[str, Figures]] = {}
    console = Console()
    for name in arguments.sections:
        section = SECTIONS[name]
        figures[name] = {item: json.loads(in_process(f"{name}:{item}")) for item in section.items(arguments)}
        table = section.show(figures[name])
        for column in table.columns[1:]:
            column.justify = "right"
        console.print(table)
    if arguments.json:
        manifest = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
        document = describe_machine() | {
            "pykeen": version(THEIRS),
            "data_hash": manifest["data_hash"],
            "graph": {name: manifest[name] for name in ("entities", "relations", "triples")},
            "configuration": {"shots": SHOTS, "steps": arguments.steps, "width": arguments.width},
            "figures": figures,
        }
        write_json(document, arguments.json)


if __name__ == "__main__":
    main()
