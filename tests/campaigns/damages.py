"""Truncated and bit-flipped files of every kind that the program writes: its own error or the right answer."""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from campaigns.children import Campaign, Tally, command, last_line, run_child, shares_of
from campaigns.commands import commands_on
from campaigns.interruptions import prepare_graphs
from damage import flipped
from tripleshot.answering.loading import load
from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_dataset
from tripleshot.training.runs import load_run

CHANGED = {"rscl": {"masked_score": True}}  # asks for what was learned before the last stage
OWN, RIGHT, WRONG, FOREIGN = "own error", "right answer", "silently wrong", "foreign exception"


@dataclass(frozen=True)
class Kind:
    """A kind of file, and what reads it.

    Attributes:
        path: of the file in its folder.
        answer: does something with the folder and writes what came of it to the file named second.
    """

    path: Path
    answer: Callable[[Path, Path], None]


def damage_files(folder: Path, num_damages: int, rng: random.Random, until: float) -> Campaign:
    """Damage every kind of file about equally often, and give what came of each."""
    kinds, whole = _write_everything(folder), folder / "whole"
    for kind, share, ends in shares_of(kinds, num_damages, until):
        yield f"damage: {kind.path}", _damage(kind, whole, folder / "damaged", share, rng, ends)


def _damage(kind: Kind, whole: Path, work: Path, num_damages: int, rng: random.Random, until: float) -> Tally:
    tally, output, found = Tally(), work.with_name("output"), work.with_name("found")
    if not num_damages or time.monotonic() >= until:
        return tally
    content = (whole / kind.path).read_bytes()

    def answer(changed: bytes) -> tuple[int, bytes]:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(whole, work)
        (work / kind.path).write_bytes(changed)
        found.unlink(missing_ok=True)
        code = run_child(lambda: kind.answer(work, found), output)
        return code, found.read_bytes() if found.exists() else b""

    right = answer(content)
    assert right[0] == 0, (kind, last_line(output))
    while tally.tried < num_damages and time.monotonic() < until:
        is_cut, place = rng.random() < 0.3, rng.randrange(8 * len(content))
        after = answer(content[: place // 8] if is_cut else flipped(content, place))
        outcome = RIGHT if after == right else {0: WRONG, 1: OWN}.get(after[0], FOREIGN)
        about = f"{kind.path}: {'cut' if is_cut else 'flipped'} at {place}: {outcome}, {last_line(output)}"
        tally.add(outcome, about if outcome in (WRONG, FOREIGN) else "")
    return tally


def _write_everything(folder: Path) -> list[Kind]:
    """Write a folder with runs of several methods, a dataset and a comparison; return its files with their readers."""
    graph, other = prepare_graphs(folder)
    whole, output = folder / "whole", folder / "output"
    whole.mkdir()
    _run(command("data", "make", graph, whole / "data", "--types-from-names"), output)
    for method in ("evidence-net", "transe", "rscl"):
        words = ("train", whole / "data", whole / method, "--method", method, "--preset", "tiny")
        _run(command(*words, "--checkpoint-every", 3, "--threads", 1, "--with-graph"), output)
    compare = next(one for one in commands_on(graph, other) if one.name == "compare")
    _run(compare.begin(whole), output)

    def asks(method: str) -> Callable[[Path, Path], None]:
        def ask(work: Path, found: Path) -> None:
            _write_scores(load(work / method), found)
            if method in CHANGED:
                load_run(work / method, load_dataset(work / method / "data"), CHANGED[method])

        return ask

    def resumes(work: Path, found: Path) -> None:
        command("train", work / "data", work / "transe", "--resume", "--threads", 1)()
        found.write_bytes((work / "transe" / "weights.safetensors").read_bytes())

    def compares(work: Path, found: Path) -> None:
        compare.begin(work)()
        found.write_text(str(compare.describe(work)))

    return [
        *(Kind(Path("transe/data", path.name), asks("transe")) for path in sorted((whole / "data").iterdir())),
        *(Kind(Path(method, "config.json"), asks(method)) for method in ("evidence-net", "transe")),
        *(Kind(Path(method, "weights.safetensors"), asks(method)) for method in ("evidence-net", "transe", "rscl")),
        Kind(Path("transe/vocabulary.arrow"), asks("transe")),
        Kind(Path("rscl/pretrained.safetensors"), asks("rscl")),
        Kind(Path("transe/checkpoint.safetensors"), resumes),
        Kind(Path("transe/log.jsonl"), resumes),
        *(Kind(path.relative_to(whole), compares) for path in sorted(whole.glob("compared/runs/degree*/result.json"))),
    ]


def _run(work: Callable[[], None], output: Path) -> None:
    assert run_child(work, output) == 0, last_line(output)


def _write_scores(predictor: Predictor, found: Path) -> None:
    """Write the scores of all entities for some heads, and the labels of the best."""
    support, tails = np.array([[0, 1], [2, 3], [4, 5]]), np.arange(predictor.graph.num_entities)
    scores = np.stack([predictor.score(support, head, tails) for head in range(0, 20, 5)])
    names = [predictor.graph.entities.label(int(best)) for best in scores.argmax(axis=1)]
    questions = [task.question or task.name for _, task in predictor.dataset.all_tasks()]
    found.write_bytes(scores.tobytes() + str((names, questions)).encode())
