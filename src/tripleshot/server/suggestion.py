"""A question to try: one of those whose answers are known, and that the method answers rightly.

Without few-shot tasks the relations of the graph itself are asked about.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tripleshot.answering.predictor import Predictor
from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import Task
from tripleshot.graph.knowledge_graph import KnowledgeGraph

SHOTS = 5
MIN_ANSWERS = 3  # different ones among the examples: a relation with one answer shows nothing
MAX_RELATIONS = 32  # that are looked at
NUM_ASKED = 8  # questions to each of them
MAX_PAIRS = 64  # of a relation of the graph
MAX_SCORED = 100_000  # candidates in all: on a large graph, rather no question than a slow one


@dataclass(frozen=True, eq=False)
class Suggested:
    """A question.

    Attributes:
        relation: what it is called.
        support: shape (K, 2), its examples.
        head: to ask about; its first answer is right, and the answer of no example.
    """

    relation: str
    support: IntArray
    head: int


def suggest_question(predictor: Predictor, is_given_up: Callable[[], bool] = lambda: False) -> Suggested | None:
    """Return a question that the predictor answers rightly, if one is soon found.

    Relations with few candidates come first: their answers are the easiest to check for a person. One of which the
    method knows half is better than one that it knows a little.
    """
    tasks = [task for task in _tasks(predictor) if len(np.unique(task.support(SHOTS)[:, 1])) >= MIN_ANSWERS]
    pools = {task.name: predictor.candidates(task.support(SHOTS)) for task in tasks}
    remaining, second_choice = MAX_SCORED, None
    for task in sorted(tasks, key=lambda task: len(pools[task.name])):
        support, pool, right = task.support(SHOTS), pools[task.name], []
        heads = list(dict.fromkeys(task.queries(SHOTS)[:, 0].tolist()))
        heads = heads[: min(NUM_ASKED, remaining // max(len(pool), 1))]
        remaining -= len(heads) * len(pool)
        for head in heads:
            if is_given_up():
                return None
            best = predictor.rank(support, head, pool, 1).tails[:1]
            if np.isin(best, task.known_tails(head)).any():
                right.append((head, bool(np.isin(best, support[:, 1]).any())))
        new = [head for head, is_repeated in right if not is_repeated]
        if not new:
            continue
        suggested = Suggested(task.label or task.name, support, new[0])
        if 2 * len(right) >= len(heads):
            return suggested
        second_choice = second_choice or suggested
    return second_choice


def _tasks(predictor: Predictor) -> list[Task]:
    dataset = predictor.dataset
    tasks = (*dataset.test, *dataset.valid) or _relations(predictor.graph)
    return [task for task in tasks if len(task.pairs) > SHOTS][:MAX_RELATIONS]


def _relations(graph: KnowledgeGraph) -> Iterator[Task]:
    """Take the largest relations of a graph as tasks, with pairs from everywhere in the file."""
    largest = np.argsort(-graph.relation_counts(), kind="stable")[:MAX_RELATIONS]
    for relation in largest.tolist():
        pairs = graph.ends_of(relation).reshape(2, -1).T
        some = np.unique(np.linspace(0, max(len(pairs) - 1, 0), MAX_PAIRS).astype(np.int64))
        task = Task.of(graph.relations.name(relation), pairs[some[: len(pairs)]], pairs)
        yield replace(task, label=graph.relations.label(relation))
