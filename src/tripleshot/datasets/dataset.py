"""FewShotDataset: a background graph and few-shot relations to learn from, to choose on and to be tested on.

A task is one few-shot relation (paper, section III). Its first K triples are the support, all others the queries;
nothing of a query may reach a model. Candidates are the tails a query is ranked among.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, frozen
from tripleshot.errors import InputError, nearest
from tripleshot.graph.knowledge_graph import KnowledgeGraph

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

CandidateMode = Literal["benchmark", "open"]
"""`benchmark`: types of all tails of the relation, queries included, as published. `open`: types of the K examples."""

LONG_TAIL_NEIGHBORS = 10  # the paper's footnote: fewer direct neighbors than this make an entity long-tailed


@dataclass(frozen=True, eq=False)
class Task:
    """One few-shot relation and its triples, in the order that decides which are the support.

    Attributes:
        name: the relation's name; `label` and `question` are for people, empty where unknown.
        pairs: shape (n, 2), int32: head and tail of each triple.
        known: shape (m, 2), int32, sorted: every true pair that is known, `pairs` among them. They are never counted
            as wrong answers.
        given_candidates: the candidates a published dataset prescribes, sorted; None where they follow from types.
    """

    name: str
    pairs: npt.NDArray[np.int32]
    known: npt.NDArray[np.int32]
    given_candidates: npt.NDArray[np.int32] | None = None
    label: str = ""
    question: str = ""

    @classmethod
    def of(
        cls, name: str, pairs: IntArray, known: IntArray | None = None, given_candidates: IntArray | None = None
    ) -> "Task":
        """Make a task from pairs; known pairs and candidates are sorted, and known pairs include the task's own."""
        pairs = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
        everything = pairs if known is None else np.concatenate([pairs, np.asarray(known, np.int32).reshape(-1, 2)])
        given = None if given_candidates is None else frozen(np.unique(given_candidates).astype(np.int32))
        return cls(name, frozen(pairs), frozen(np.unique(everything, axis=0)), given)

    def support(self, shots: int) -> npt.NDArray[np.int32]:
        """Return the first K pairs: the examples a method may see."""
        check_shots(shots)
        if shots >= len(self.pairs):
            raise InputError(f"{shots} shots leave no query: relation {self.name!r} has {len(self.pairs)} triples")
        return self.pairs[:shots]

    def queries(self, shots: int) -> npt.NDArray[np.int32]:
        """Return the pairs after the first K: what a method is asked."""
        return self.pairs[len(self.support(shots)) :]

    def known_tails(self, head: int) -> npt.NDArray[np.int32]:
        """Return, sorted, every known tail of (head, relation)."""
        first, last = np.searchsorted(self.known[:, 0], [head, head + 1])
        return self.known[first:last, 1]


@dataclass(frozen=True, eq=False)
class FewShotDataset:
    """A background graph with disjoint sets of few-shot relations.

    Attributes:
        name: how it is called in tables and files.
        graph: the background graph; it holds no task relation, and its entities include those of the tasks.
        train: tasks to learn from; `valid` to choose on; `test` to report on.
        notes: what its making left out, one sentence each.
    """

    name: str
    graph: KnowledgeGraph
    train: tuple[Task, ...]
    valid: tuple[Task, ...]
    test: tuple[Task, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = "/".join(str(len(self.tasks(split))) for split in SPLITS)
        return f"FewShotDataset({self.name!r}, {self.graph!r}, tasks {sizes})"

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """Return the tasks of one split, in file order."""
        return {"train": self.train, "valid": self.valid, "test": self.test}[split]

    def all_tasks(self) -> Iterator[tuple[Split, Task]]:
        """Go through every task with its split."""
        for split in SPLITS:
            for task in self.tasks(split):
                yield split, task

    def task(self, name: str) -> Task:
        """Return the task of this name."""
        tasks = {task.name: task for _, task in self.all_tasks()}
        if name not in tasks:
            raise InputError(f"{self.name} has no few-shot relation {name!r}{nearest(name, list(tasks))}")
        return tasks[name]

    def candidates(self, task: Task, mode: CandidateMode = "benchmark", shots: int = 1) -> npt.NDArray[np.int32]:
        """Return, sorted, the tails that queries of a task are ranked among.

        In `benchmark` mode these are the prescribed ones, or the entities that share a type with any tail of the
        relation (the published rule, which lets query tails speak), or the observed tails where types are unknown.
        In `open` mode only the tails of the first `shots` pairs speak.
        """
        if mode == "open":
            return candidates_like(self.graph, task.support(shots)[:, 1])
        if task.given_candidates is not None:
            return task.given_candidates
        tails = np.unique(task.pairs[:, 1])
        return tails if self.graph.types is None else candidates_like(self.graph, tails)

    def long_tail(self, pairs: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which pairs have a head or a tail with fewer than ten distinct neighbors (paper, section V-D)."""
        return self.graph.num_neighbors[pairs].min(axis=1) < LONG_TAIL_NEIGHBORS

    def holding_out(self, part: int, parts: int) -> "FewShotDataset":
        """Return a dataset that is tested on some of its train tasks and has lost its test tasks.

        Few valid tasks tell little about a choice between methods; all train tasks, each held out once, tell more, and
        nothing about the test tasks.

        Args:
            part: which of the parts is held out, from 1 on.
            parts: how many there are; the first has the 1st, (1 + parts)th, ... train task.
        """
        if not 1 <= part <= parts or not 2 <= parts <= len(self.train):
            count = len(self.train)
            raise InputError(f"{self.name} has {count} train tasks: part {part} of {parts} cannot be held out")
        rest = tuple(task for place, task in enumerate(self.train) if place % parts != part - 1)
        return replace(self, name=f"{self.name}-part-{part}-of-{parts}", train=rest, test=self.train[part - 1 :: parts])

    @cached_property
    def in_train(self) -> "FewShotDataset":
        """The In-Train variant: every background relation is a training task too, the background stays as it is."""
        return replace(self, name=f"{self.name}-in-train", train=(*self.train, *background_tasks(self.graph)))

    @cached_property
    def with_train_edges(self) -> "FewShotDataset":
        """The same tasks beside a graph that has the triples of the train tasks, too, as relations of their names.

        They are known when a new relation is asked about, and often join what it asks for. Who learns from a train
        task has to hide its own.
        """
        return replace(self, graph=with_task_edges(self.graph, self.train))


def check_shots(shots: int) -> None:
    """Refuse a number of examples that is none."""
    if shots < 1:
        raise InputError(f"shots is a number of examples, 1 or more, not {shots}")


def with_task_edges(graph: KnowledgeGraph, tasks: Sequence[Task]) -> KnowledgeGraph:
    """Return a graph that has the triples of these tasks, too, as relations of their names."""
    names = [task.name for task in tasks]
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int32), *(task.pairs for task in tasks)])
    owners = np.repeat(np.arange(len(names)), [len(task.pairs) for task in tasks])
    labels = {task.name: task.label for task in tasks if task.label}
    return graph.with_relations(names, labels, pairs[:, 0], owners, pairs[:, 1])


def candidates_like(graph: KnowledgeGraph, tails: IntArray) -> npt.NDArray[np.int32]:
    """Return, sorted, the entities that could stand where these tails stand.

    With types: all entities that share a type with one of the tails; entities without a type count as one type of
    their own. Without types: the tails of every background relation that leads to one of these tails.
    """
    tails = np.unique(tails).astype(np.int32)
    if graph.types is None:
        return np.union1d(tails, _tails_of_same_relations(graph, tails))
    found = graph.types.members(graph.types.of(tails))
    untyped = np.diff(graph.types.offsets) == 0
    return np.union1d(found, np.flatnonzero(untyped).astype(np.int32)) if untyped[tails].any() else found


def _tails_of_same_relations(graph: KnowledgeGraph, tails: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    positions, _ = arrays.expand(graph.adjacency.offsets, tails)
    relations = np.unique(graph.adjacency.relations[positions])
    incoming = relations[relations >= graph.num_relations] - graph.num_relations
    leads_here = np.zeros(graph.num_relations, dtype=bool)
    leads_here[incoming] = True
    return np.unique(graph.tail_ids[leads_here[graph.relation_ids]])


def background_tasks(graph: KnowledgeGraph) -> tuple[Task, ...]:
    """Make a task of every background relation; one that has a single candidate borrows those of another relation."""
    offsets, order = arrays.group(graph.relation_ids, graph.num_relations)
    pairs = np.stack([graph.head_ids, graph.tail_ids], axis=1)[order]
    tasks = [
        Task.of(graph.relations.name(relation), pairs[offsets[relation] : offsets[relation + 1]])
        for relation in range(graph.num_relations)
        if offsets[relation] < offsets[relation + 1]
    ]
    return tuple(_borrow_candidates(graph, task, tasks) for task in tasks)


def _borrow_candidates(graph: KnowledgeGraph, task: Task, others: Sequence[Task]) -> Task:
    tails = np.unique(task.pairs[:, 1])
    if len(tails) > 1 or (graph.types is not None and len(candidates_like(graph, tails)) > 1):
        return task
    for other in others:
        if other is not task and tails[0] in other.pairs[:, 1]:
            return replace(task, given_candidates=frozen(candidates_like(graph, other.pairs[:, 1])))
    return task
