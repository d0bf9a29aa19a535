"""Checks of a few-shot dataset: what would make results wrong or impossible, found before they are computed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tripleshot.datasets.dataset import SPLITS, FewShotDataset, with_task_edges
from tripleshot.datasets.splitting import find_overlaps


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing.

    Attributes:
        is_problem: results would be wrong or impossible; otherwise it is good to know.
        text: what and where, in one sentence.
    """

    is_problem: bool
    text: str


def check_dataset(dataset: FewShotDataset, shots: int = 5, overlap_threshold: float = 0.8) -> list[Finding]:
    """Collect everything that would spoil an evaluation, problems first.

    Args:
        dataset: to look at.
        shots: K; the other triples of a task are its queries.
        overlap_threshold: a background relation that shares at least this part of the pairs of both gives a task away.
    """
    findings = [
        *_check_sizes(dataset),
        *_check_splits(dataset),
        *_check_tasks(dataset, shots),
        *_check_leaks(dataset, overlap_threshold),
        *_check_types(dataset),
        *(Finding(False, note) for note in dataset.notes),
    ]
    return sorted(findings, key=lambda finding: not finding.is_problem)


def _check_sizes(dataset: FewShotDataset) -> Iterator[Finding]:
    if not dataset.graph.num_triples:
        yield Finding(True, "the background graph has no triple: there is nothing to find an answer in")
    if not any(dataset.tasks(split) for split in SPLITS):
        yield Finding(True, "there is no few-shot relation: nothing can be learned or asked")
        return
    for split in SPLITS:
        if not dataset.tasks(split):
            yield Finding(False, f"there is no {split} task")


def _check_splits(dataset: FewShotDataset) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for split, task in dataset.all_tasks():
        if task.name in seen:
            yield Finding(True, f"relation {task.name!r} is a {seen[task.name]} and a {split} task")
        if task.name in dataset.graph.relations:
            yield Finding(True, f"{split} relation {task.name!r} is in the background too: its answers are given away")
        seen[task.name] = split


def _check_tasks(dataset: FewShotDataset, shots: int) -> Iterator[Finding]:
    degrees = dataset.graph.degrees
    for split, task in dataset.all_tasks():
        if len(task.pairs) <= shots:
            yield Finding(True, f"{split} relation {task.name!r} has {len(task.pairs)} triples: none left to ask")
            continue
        repeated = len(task.pairs) - len(np.unique(task.pairs, axis=0))
        if repeated:
            yield Finding(True, f"{split} relation {task.name!r} has {repeated} triples twice")
        outside = ~np.isin(task.pairs[:, 1], dataset.candidates(task))
        if outside.any():
            yield Finding(True, f"{split} relation {task.name!r}: {outside.sum()} answers are not among its candidates")
        alone = degrees[task.pairs].min(axis=1) == 0
        if alone.any():
            text = f"{alone.sum()} of {len(alone)} triples have an entity without any background edge"
            yield Finding(False, f"{split} relation {task.name!r}: {text}")


def _check_leaks(dataset: FewShotDataset, overlap_threshold: float) -> Iterator[Finding]:
    background = dataset.graph
    tasks = [task for split, task in dataset.all_tasks() if split != "train" and task.name not in background.relations]
    graph = with_task_edges(background, tasks)
    relations = np.arange(background.num_relations, graph.num_relations)
    for overlap in find_overlaps(graph, relations, overlap_threshold):
        if overlap.other < background.num_relations:
            kind = "the inverse" if overlap.is_inverse else "a copy"
            other, task = graph.relations.name(overlap.other), graph.relations.name(overlap.relation)
            text = f"background relation {other!r} is {kind} of {task!r} ({overlap.share:.0%} of its pairs)"
            yield Finding(True, text)


def _check_types(dataset: FewShotDataset) -> Iterator[Finding]:
    types = dataset.graph.types
    if types is None:
        yield Finding(False, "entity types are unknown: candidates are the observed range")
        return
    untyped = int((np.diff(types.offsets) == 0).sum())
    if untyped:
        yield Finding(False, f"{untyped:,} of {dataset.graph.num_entities:,} entities have no type")
