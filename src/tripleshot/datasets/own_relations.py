"""The relations of a graph as tasks, a bounded number of them and of their pairs: what a graph says about itself."""

from collections.abc import Sequence

import numpy as np

from tripleshot.datasets.dataset import Task
from tripleshot.graph.knowledge_graph import KnowledgeGraph

MIN_RELATIONS = 5  # fewer say nothing about others
MAX_RELATIONS = 200
MAX_PAIRS = 1000  # of a relation


def sample_relations(
    graph: KnowledgeGraph,
    rng: np.random.Generator,
    max_relations: int = MAX_RELATIONS,
    max_pairs: int = MAX_PAIRS,
    without: Sequence[str] = (),
) -> tuple[Task, ...]:
    """Make tasks of relations that have two pairs and two tails at least.

    All that is known about the heads of a task's pairs is known to the task, so no wrong answer is a true one.

    Args:
        graph: whose relations they are; whoever asks about one has to hide its edges.
        rng: draws relations and pairs where there are more.
        max_relations: how many tasks there are at most.
        max_pairs: how many pairs a task has at most.
        without: names of relations that are left out.
    """
    usable = graph.relation_counts() > 1
    usable &= ~np.isin(np.arange(graph.num_relations), graph.relations.find(list(without)))
    chosen = rng.permutation(np.flatnonzero(usable))
    tasks = (_as_task(graph, relation, rng, max_pairs) for relation in np.sort(chosen[:max_relations]).tolist())
    return tuple(task for task in tasks if task is not None)


def _as_task(graph: KnowledgeGraph, relation: int, rng: np.random.Generator, max_pairs: int) -> Task | None:
    rows = np.flatnonzero(graph.relation_ids == relation)
    pairs = np.stack([graph.head_ids[rows], graph.tail_ids[rows]], axis=1)
    tails = np.unique(pairs[:, 1])
    if len(tails) < 2:
        return None
    drawn = pairs[rng.permutation(len(pairs))[:max_pairs]]
    known = pairs[np.isin(pairs[:, 0], drawn[:, 0])]
    return Task.of(graph.relations.name(relation), drawn, known, None if graph.types is not None else tails)
