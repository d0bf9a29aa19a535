"""Dump scores and losses of every method, so that two versions of the code can be compared to the bit.

    python scripts/dump_scores.py OUT.jsonl [--nell-one FOLDER --runs FOLDER]

Each line is one case: the losses of its training steps and its scores, as hexadecimal floats. Run it before and after a
change that must change nothing, on one thread, and `diff` the two files. With `--runs` the trained runs in that folder
are loaded and asked on NELL-One, too.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods import METHODS, create_method
from tripleshot.methods.protocol import Method
from tripleshot.training.fit import fit, train_run
from tripleshot.training.runs import load_run
from tripleshot.training.updates import TrainingUpdate

SHOTS, NUM_QUERIES, NUM_CANDIDATES = 3, 3, 200
MATCHING = {"width": 16, "max_neighbors": 4, "batch_size": 16, "steps": 20, "validate_every": 10}
EMBEDDING = {"width": 16, "batch_size": 32, "num_negatives": 4, "steps": 20, "validate_every": 10}
EPISODES = {"width": 16, "batch_size": 64, "relations_per_step": 16, "steps": 20, "validate_every": 10}
RSCL = {
    "width": 16,
    "num_layers": 1,
    "num_heads": 2,
    "max_neighbors": 4,
    "max_distant": 2,
    "batch_size": 16,
    "pretraining_steps": 10,
    "pretraining_batch_size": 32,
    "steps": 20,
    "validate_every": 10,
    "num_sampled": 8,
}
NET = {"batch_size": 16, "num_negatives": 16, "steps": 20, "validate_every": 10}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, EMBEDDING) for name in ("transe", "transh", "transr", "rescal", "distmult", "complex")),
    ("transr", {**EMBEDDING, "pretrained": "transe"}),
    *((name, MATCHING) for name in ("gmatching", "fsrl", "faan")),
    ("gmatching", {**MATCHING, "match_released_code": True, "regime": "in-train"}),
    ("gmatching", {**MATCHING, "pretrained": "distmult"}),
    ("faan", {**MATCHING, "pretrained": "transe", "fine_tune": False}),
    ("metar", EPISODES),
    ("metar", {**EPISODES, "pretrained": "transe", "match_released_code": True}),
    ("gana", {**EPISODES, "lstm_width": 8, "max_neighbors": 4}),
    ("rscl", RSCL),
    ("rscl", {**RSCL, "masking_weight": 1.0, "dropout": 0.0}),
    ("rscl", {**RSCL, "connected": True, "train_edges": True, "regime": "in-train", "relations_per_step": 4}),
    ("rscl", {**RSCL, "factorised": True, "masking_weight": 0.0, "num_negatives": 2}),
    ("rscl", {**RSCL, "relation_token": "own", "top_neighbors": "rare"}),
    ("rscl", {**RSCL, "relation_token": "difference", "text": True}),
    ("rscl", {**RSCL, "use_global": False}),
    ("rscl", {**RSCL, "use_local": False, "max_distant": 0}),
    ("evidence-net", NET),
    ("evidence-net", {**NET, "text": True, "train_edges": False, "without_evidence": "walk"}),
]


def train(name: str, settings: dict[str, Any], dataset: FewShotDataset, folder: Path) -> tuple[Method, list]:
    """Train a method into a folder; return it with the losses of its steps."""
    losses: list[dict[str, str]] = []

    def record(update: TrainingUpdate) -> None:
        losses.append({name: float(value).hex() for name, value in update.losses.items()})

    return train_run(name, dataset, SHOTS, folder, settings=settings, callback=record), losses


def make_training_free(name: str, dataset: FewShotDataset) -> Method:
    """Return a method that needs no training, ready to score."""
    method = create_method(name)
    fit(method, dataset, SHOTS)
    return method


def restore(folder: Path, dataset: FewShotDataset) -> Method:
    """Return the method of a run, ready to score."""
    return load_run(folder, dataset)[0]


def make_up_dataset() -> FewShotDataset:
    """Return a small random graph with loops and repeated pairs, and four tasks."""
    rng = np.random.default_rng(0)
    names = [f"{'place' if i % 3 else 'person'}:{i}" for i in range(60)]
    columns = [rng.integers(0, count, 400).astype(np.int32) for count in (60, 8, 60)]
    relations = Vocabulary.of("relation", [f"relation {i}" for i in range(8)])
    graph = KnowledgeGraph(Vocabulary.of("entity", names), relations, columns[0], columns[1], columns[2])
    tasks = [Task.of(f"task {i}", np.unique(rng.integers(0, 60, (40, 2)), axis=0)) for i in range(5)]
    return FewShotDataset("made up", graph, tuple(tasks[:3]), (tasks[3],), (tasks[4],))


def scores_of(method: Method, dataset: FewShotDataset) -> list[list[str]]:
    """Return the scores of some test queries among some candidates."""
    rows = []
    for task in dataset.test[:3]:
        tails = dataset.candidates(task)[:NUM_CANDIDATES]
        for head in task.queries(SHOTS)[:NUM_QUERIES, 0].tolist():
            rows.append([float(score).hex() for score in method.score(task.support(SHOTS), head, tails)])
    return rows


def dump(dataset: FewShotDataset) -> Iterator[dict[str, Any]]:
    """Give one record for each case on a dataset."""
    for name in METHODS:
        if not METHODS[name].learns:
            yield {
                "data": dataset.name,
                "method": name,
                "scores": scores_of(make_training_free(name, dataset), dataset),
            }
    with tempfile.TemporaryDirectory() as temporary:
        for number, (name, settings) in enumerate(CASES):
            folder = Path(temporary) / str(number)
            folder.mkdir()
            source = settings.get("pretrained")
            index = next((i for i, (other, _) in enumerate(CASES) if other == source), None)
            start = {} if index is None else {"pretrained": str(Path(temporary) / str(index))}
            method, losses = train(name, {**settings, **start}, dataset, folder)
            scores = scores_of(method, dataset)
            assert scores == scores_of(restore(folder, dataset), dataset), f"{name} is not restored to the bit"
            yield {"data": dataset.name, "method": name, "settings": settings, "losses": losses, "scores": scores}


def main() -> None:
    """Write one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--nell-one", type=Path, help="the folder of NELL-One")
    parser.add_argument("--runs", type=Path, help="a folder of runs that were trained on it")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with arguments.out.open("w", encoding="utf-8") as file:
        for dataset in (make_up_dataset(), load_dataset("atlas")):
            for record in dump(dataset):
                file.write(json.dumps(record) + "\n")
        if arguments.runs:
            dataset = load_dataset(str(arguments.nell_one))
            for folder in sorted(arguments.runs.iterdir()):
                record = {
                    "data": "nell-one",
                    "run": folder.name,
                    "scores": scores_of(restore(folder, dataset), dataset),
                }
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
