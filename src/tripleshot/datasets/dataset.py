"""FewShotDataset: a background graph, and few-shot relations for training, validation and test.

A task is one few-shot relation (paper, section III). Its first K triples are the support, all others the queries;
nothing of a query may reach a model. Candidates are the tails that the answer to a query is ranked among.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, frozen
from tripleshot.datasets.dataset_html import dataset_html
from tripleshot.errors import InputError, did_you_mean
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.markup import Shown

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

CandidateMode = Literal["benchmark", "open"]
"""`benchmark`: types of all tails of the relation, queries included, as published. `open`: types of the K examples."""

LONG_TAIL_NEIGHBORS = 10  # the paper's footnote: fewer direct neighbors than this make an entity long-tailed


@dataclass(frozen=True, eq=False)
class Task:
    """One few-shot relation and its triples, in the order that decides which are the support.

    Attributes:
        name: the relation's name; `label` and `question` are texts for people, empty where unknown.
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

    def __repr__(self) -> str:
        label = f"{self.label!r}, " if self.label and self.label != self.name else ""
        return f"Task({self.name!r}, {label}{len(self.pairs)} triples)"

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
class FewShotDataset(Shown):
    """A background graph with disjoint sets of few-shot relations.

    Attributes:
        name: how it is called in tables and files.
        graph: the background graph; it holds no task relation, and its entities include those of the tasks.
        train: tasks to learn from; `valid` are those to choose a model on, `test` those to report.
        notes: what was left out when it was made, one sentence each.
    """

    name: str
    graph: KnowledgeGraph
    train: tuple[Task, ...]
    valid: tuple[Task, ...]
    test: tuple[Task, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} train, {len(self.valid)} valid and {len(self.test)} test tasks"
        return f"FewShotDataset({self.name!r}, {sizes}, {self.graph!r})"

    def to_html(self) -> str:
        """Return a table of the splits and their tasks, as a notebook shows it; names are escaped."""
        return dataset_html(self)

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """Return the tasks of one split, in file order."""
        if split not in SPLITS:
            raise InputError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
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
            raise InputError(f"{self.name} has no few-shot relation {name!r}{did_you_mean(name, list(tasks))}")
        return tasks[name]

    def candidates(self, task: Task, mode: CandidateMode = "benchmark", shots: int = 1) -> npt.NDArray[np.int32]:
        """Return, sorted, the tails that queries of a task are ranked among.

        In `benchmark` mode these are the prescribed ones, or the entities that share a type with any tail of the
        relation (the published rule, which uses the tails of queries), or the observed tails where types are unknown.
        In `open` mode only the tails of the first `shots` pairs are used.
        """
        if mode not in get_args(CandidateMode):
            raise InputError(f"mode must be one of {', '.join(get_args(CandidateMode))}, not {mode!r}")
        if mode == "open":
            return candidates_like(self.graph, task.support(shots)[:, 1])
        if task.given_candidates is not None:
            return task.given_candidates
        tails = np.unique(task.pairs[:, 1])
        return tails if self.graph.types is None else candidates_like(self.graph, tails)

    def long_tail(self, pairs: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which pairs have a head or a tail with fewer than ten distinct neighbors (paper, section V-D)."""
        return self.graph.num_neighbors[pairs].min(axis=1) < LONG_TAIL_NEIGHBORS

    def hold_out_fold(self, fold: int, num_folds: int) -> "FewShotDataset":
        """Return a dataset whose test tasks are one fold of the train tasks; its own test tasks are left out.

        This is cross-validation over train tasks: a few valid tasks tell little about a choice between methods. All
        train tasks, each held out once, tell more, and the test tasks stay unseen.

        Args:
            fold: which fold is held out, from 1 on.
            num_folds: how many there are; the first has the 1st, (1 + num_folds)th, ... train task.
        """
        if not 1 <= fold <= num_folds or not 2 <= num_folds <= len(self.train):
            count = len(self.train)
            raise InputError(f"{self.name} has {count} train tasks: fold {fold} of {num_folds} cannot be held out")
        rest = tuple(task for place, task in enumerate(self.train) if place % num_folds != fold - 1)
        name = f"{self.name}-part-{fold}-of-{num_folds}"
        return replace(self, name=name, train=rest, test=self.train[fold - 1 :: num_folds])

    def redraw_examples(self, draw: int) -> "FewShotDataset":
        """Return the same dataset with other examples: the triples of valid and test tasks in another order.

        With one example, which one it is moves the results of a relation more than most methods differ. Means over
        several draws tell more. Draw 0 keeps the order, and so the examples, as published.
        """
        if draw < 0:
            raise InputError(f"draw is the number of an order, 0 or more, not {draw}")
        if not draw:
            return self
        valid, test = (tuple(_reorder(task, draw) for task in tasks) for tasks in (self.valid, self.test))
        return replace(self, valid=valid, test=test)

    @cached_property
    def in_train(self) -> "FewShotDataset":
        """The In-Train variant: every background relation is a training task too, the background stays as it is."""
        return replace(self, name=f"{self.name}-in-train", train=(*self.train, *background_tasks(self.graph)))

    @cached_property
    def with_train_edges(self) -> "FewShotDataset":
        """The same tasks over a graph that has the triples of the train tasks, too, as relations of their names.

        They are known when a new relation is asked about, and often connect its heads to its tails. A method that
        learns from a train task must hide the edges of that task.
        """
        from tripleshot.datasets.opening import open_with_train_edges  # it opens datasets, so it imports this module

        return replace(self, graph=open_with_train_edges(self))

    @cached_property
    def whole(self) -> "FewShotDataset":
        """The same triples to be asked rather than measured: all are in the graph, and there is no task."""
        tasks = [replace(task, pairs=task.known) for _, task in self.all_tasks()]
        graph = with_task_edges(self.graph, tasks) if tasks else self.graph
        return self if not tasks else FewShotDataset(self.name, graph, (), (), ())

    @cached_property
    def content_hash(self) -> str:
        """A SHA-256 over everything that can change a result: names, types, triples, tasks and candidates."""
        from tripleshot.datasets.storage import hash_content  # storage reads datasets, so it imports this module

        return hash_content(self)

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the dataset to a new folder, for `load_dataset`; an existing folder is replaced only if asked."""
        from tripleshot.datasets.storage import write_dataset

        write_dataset(self, Path(folder), overwrite)


def _reorder(task: Task, draw: int) -> Task:
    """Return a task with its triples in an order that depends on its name and the draw alone."""
    rng = np.random.default_rng([draw, *task.name.encode()])
    return replace(task, pairs=frozen(task.pairs[rng.permutation(len(task.pairs))]))


def check_shots(shots: int) -> None:
    """Raise an error unless the number of examples is 1 or more."""
    if not isinstance(shots, int | np.integer) or shots < 1:
        raise InputError(f"shots is a number of examples, 1 or more, not {shots!r}")


def with_task_edges(graph: KnowledgeGraph, tasks: Sequence[Task]) -> KnowledgeGraph:
    """Return a graph that has the triples of these tasks, too, as relations of their names."""
    names = [task.name for task in tasks]
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int32), *(task.pairs for task in tasks)])
    owners = np.repeat(np.arange(len(names)), [len(task.pairs) for task in tasks])
    labels = {task.name: task.label for task in tasks if task.label}
    return graph.with_relations(names, labels, pairs[:, 0], owners, pairs[:, 1])


def candidates_like(graph: KnowledgeGraph, tails: IntArray, hidden: int = -1) -> npt.NDArray[np.int32]:
    """Return, sorted, the entities that could be tails of the same relation as these tails.

    With types: all entities that share a type with one of the tails; entities without a type count as one type of
    their own. Without types: the tails of every background relation that leads to one of these tails, but for the
    hidden one.
    """
    tails = np.unique(tails).astype(np.int32)
    if graph.types is None:
        return np.union1d(tails, _tails_of_same_relations(graph, tails, hidden))
    found = graph.types.members(graph.types.of(tails))
    offsets = graph.types.offsets
    if np.all(offsets[tails] < offsets[tails + 1]):
        return found
    return np.union1d(found, np.flatnonzero(offsets[:-1] == offsets[1:]).astype(np.int32))


def exclude_known(support: IntArray, head: int, candidates: IntArray) -> IntArray:
    """Return, sorted, the candidates to rank for a head: neither the head itself nor its tails in the support."""
    known = support[support[:, 0] == head, 1]
    if len(known):
        return np.setdiff1d(candidates, np.append(known, head))
    is_sorted = bool((candidates[:-1] < candidates[1:]).all())
    candidates = candidates if is_sorted else np.unique(candidates)
    return candidates[candidates != head]  # most heads: nothing is known of them, and set operations take longer


def _tails_of_same_relations(graph: KnowledgeGraph, tails: npt.NDArray[np.int32], hidden: int) -> npt.NDArray[np.int32]:
    positions, _ = arrays.expand(graph.adjacency.offsets, tails)
    relations = np.unique(graph.adjacency.relations[positions])
    incoming = graph.base(relations[graph.is_inverse(relations)])
    leads_here = np.zeros(graph.num_relations, dtype=bool)
    leads_here[incoming[incoming != hidden]] = True
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
