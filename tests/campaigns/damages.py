"""Truncated and bit-flipped files of every kind that the program writes: its own error or the right answer."""

import random
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from campaigns.children import Campaign, Tally, command, last_line, run_child, shares_of
from campaigns.commands import Command, commands_on
from campaigns.interruptions import prepare_graphs
from damage import flipped
from tripleshot.answering.loading import load
from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_dataset
from tripleshot.training.runs import load_run

METHODS = ("evidence-net", "transe", "rscl")
CHANGED = {"rscl": {"masked_score": True}}  # asks for what was learned before the last stage
LONG_HASH = re.compile("[0-9a-f]{64}")
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
        yield (
            f"damage: {LONG_HASH.sub('*', str(kind.path))}",
            _damage(kind, whole, folder / "damaged", share, rng, ends),
        )


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
    """Write a folder with everything that commands write; return its files with their readers."""
    graph, other = prepare_graphs(folder)
    whole, output = folder / "whole", folder / "output"
    whole.mkdir()
    _run(command("data", "make", graph, whole / "data", "--types-from-names"), output)
    for method in METHODS:
        words = ("train", whole / "data", whole / method, "--method", method, "--preset", "tiny")
        _run(command(*words, "--checkpoint-every", 3, "--threads", 1, "--with-graph"), output)
    by_name = {one.name: one for one in commands_on(graph, other)}
    again = [by_name[name] for name in ("compare", "ask --workers", "index", "data fetch")]
    for one in again:
        _run(one.begin(whole), output)

    def asks(method: str) -> Callable[[Path, Path], None]:
        def ask(work: Path, found: Path) -> None:
            _write_scores(load(work / method), found)
            if method in CHANGED:
                load_run(work / method, load_dataset(work / method / "data"), CHANGED[method])

        return ask

    def resumes(work: Path, found: Path) -> None:
        command("train", work / "data", work / "transe", "--resume", "--threads", 1)()
        found.write_bytes((work / "transe" / "weights.safetensors").read_bytes())

    def reads(work: Path, found: Path) -> None:
        dataset = load_dataset(work / "data")
        names = [(task.name, task.label, task.question) for _, task in dataset.all_tasks()]
        types = dataset.graph.types and dataset.graph.types.content_hash
        found.write_text(str((dataset.content_hash, dataset.graph.triples_hash, types, names, dataset.notes)))

    def repeats(one: Command) -> Callable[[Path, Path], None]:
        def repeat(work: Path, found: Path) -> None:
            one.begin(work)()
            found.write_text(str(one.describe(work)))

        return repeat

    def asks_many(work: Path, found: Path) -> None:
        by_name["ask --workers"].begin(work)()
        found.write_bytes(b"".join(path.read_bytes() for path in sorted((work / "answers").glob("*.parquet"))))

    def files(pattern: str, answer: Callable[[Path, Path], None]) -> list[Kind]:
        found = sorted(path.relative_to(whole) for path in whole.glob(pattern))
        assert found, pattern
        return [Kind(path, answer) for path in found]

    return [
        *files("data/*", reads),
        *(kind for method in METHODS for kind in files(f"{method}/config.json", asks(method))),
        *(kind for method in METHODS for kind in files(f"{method}/weights.safetensors", asks(method))),
        *files("evidence-net/calibration.json", asks("evidence-net")),
        *files("transe/vocabulary.arrow", asks("transe")),
        *files("rscl/pretrained.safetensors", asks("rscl")),
        *files("transe/checkpoint.safetensors", resumes),
        *files("transe/log.jsonl", resumes),
        *files("compared/runs/degree*/result.json", repeats(by_name["compare"])),
        *files("answers/_manifest.jsonl", asks_many),
        *files("answers/part-000001.parquet", asks_many),
        *files("home/indexes/*/[adm]*/manifest.json", repeats(by_name["index"])),
        *files("home/indexes/*/dataset/*_ids.bin", repeats(by_name["index"])),
        *files("home/nell-one/*_*", repeats(by_name["data fetch"])),
    ]


def _run(work: Callable[[], None], output: Path) -> None:
    assert run_child(work, output) == 0, last_line(output)


def _write_scores(predictor: Predictor, found: Path) -> None:
    """Write the scores of all entities for some heads, and the labels of the best."""
    support, tails = np.array([[0, 1], [2, 3], [4, 5]]), np.arange(predictor.graph.num_entities)
    scores = np.stack([predictor.score(support, head, tails) for head in range(0, 20, 5)])
    names = [predictor.graph.entities.label(int(best)) for best in scores.argmax(axis=1)]
    questions = [task.question or task.name for _, task in predictor.dataset.all_tasks()]
    found.write_bytes(scores.tobytes() + str((names, questions, predictor.calibration)).encode())
