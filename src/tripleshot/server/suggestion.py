"""A question to try: one whose answer is known, and that the method answers rightly though it has not seen that.

Without few-shot tasks the relations of the graph itself are asked about, each hidden from the method.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tripleshot.answering.predictor import Predictor
from tripleshot.answering.questions import Question
from tripleshot.answering.steps import Steps
from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import Task
from tripleshot.graph.knowledge_graph import KnowledgeGraph

SHOTS = 5
MIN_ANSWERS = 3  # different ones among the examples: a relation with one answer shows nothing
MAX_RELATIONS = 32  # that are looked at
NUM_ASKED = 8  # questions to each of them
MAX_PAIRS = 64  # of a relation of the graph
MAX_SCORED = 100_000  # candidates in all: on a large graph, rather no question than a slow one
MAX_INDEXED = 3_000_000  # triples in all: each relation of the graph that is looked at is hidden first


@dataclass(frozen=True, eq=False)
class Suggested:
    """A question.

    Attributes:
        relation: what names it in a question.
        support: shape (K, 2), its examples.
        head: to ask about, and also for what is known; its first answer is right, and the answer of no example.
    """

    relation: str
    support: IntArray
    head: int


def suggest_question(predictor: Predictor) -> Steps[Suggested | None]:
    """Find a question that the predictor answers rightly without seeing the relation, if that is soon done.

    Relations with few candidates come first: their answers are the easiest to check for a person. One of which the
    method knows half is better than one that it knows a little.
    """
    asked = [found for task in _tasks(predictor) if (found := _ask_by_name(predictor, task)) is not None]
    pools = {one.task.name: predictor.candidates_for(one.question) for one in asked}
    num_scored, num_indexed, second_choice = 0, 0, None
    for one in sorted(asked, key=lambda one: len(pools[one.task.name])):
        task, question, pool = one.task, one.question, pools[one.task.name]
        heads = list(dict.fromkeys(task.queries(SHOTS)[:, 0].tolist()))
        heads = heads[: min(NUM_ASKED, (MAX_SCORED - num_scored) // max(len(pool), 1))]
        num_scored += len(heads) * len(pool)
        num_indexed += predictor.graph.num_triples if task.name in predictor.graph.relations else 0
        if num_indexed > MAX_INDEXED:
            break
        right = []
        for head in heads:
            best = (yield from question.rank(head, pool, 1, include_known=True)).tails[:1]
            if np.isin(best, task.known_tails(head)).any():
                right.append((head, bool(np.isin(best, question.support[:, 1]).any())))
        new = [head for head, is_repeated in right if not is_repeated]
        if not new:
            continue
        suggested = Suggested(one.text, question.support, new[0])
        if 2 * len(right) >= len(heads):
            return suggested
        second_choice = second_choice or suggested
    return second_choice


@dataclass(frozen=True, eq=False)
class _Asked:
    """A task as it is asked about: the text that names its relation, and the question that this makes."""

    task: Task
    text: str
    question: Question


def _ask_by_name(predictor: Predictor, task: Task) -> _Asked | None:
    """Ask about a task by its label; None if its examples are too much alike, or no text names it and nothing else."""
    support = task.support(SHOTS)
    if len(np.unique(support[:, 1])) < MIN_ANSWERS:
        return None
    for text in filter(None, (task.label, task.name)):
        question = predictor.question(support.tolist(), text)
        if question.hidden == task.name:
            return _Asked(task, text, question)
    return None


def _tasks(predictor: Predictor) -> list[Task]:
    dataset, graph = predictor.dataset, predictor.graph
    tasks = (*dataset.test, *dataset.valid) or (_relations(graph) if graph.num_triples <= MAX_INDEXED else ())
    return [task for task in tasks if len(task.pairs) > SHOTS][:MAX_RELATIONS]


def _relations(graph: KnowledgeGraph) -> Iterator[Task]:
    """Take the largest relations of a graph as tasks, with pairs from everywhere in the file."""
    largest = np.argsort(-graph.relation_counts(), kind="stable")[:MAX_RELATIONS]
    for relation in largest.tolist():
        pairs = graph.ends_of(relation).reshape(2, -1).T
        some = np.unique(np.linspace(0, max(len(pairs) - 1, 0), MAX_PAIRS).astype(np.int64))
        task = Task.of(graph.relations.name(relation), pairs[some[: len(pairs)]], pairs)
        yield replace(task, label=graph.relations.label(relation))
