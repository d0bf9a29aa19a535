"""Confidence that travels: how sure to be on a graph that nobody has measured, from what the graph says about itself.

Graphs differ in how often the best answer is right at the same score. The relations of a graph say how often it is
there: each is asked about as if it were new, with its edges hidden, and the curve is fitted to these questions. What
holds on many graphs is the prior, so that a graph with few relations is judged like others, and all the more one with
hardly any.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from tripleshot.arrays import IntArray
from tripleshot.datasets.dataset import Task, candidates_like, exclude_known
from tripleshot.datasets.own_relations import MIN_RELATIONS, sample_relations
from tripleshot.evaluation.calibration import Calibration, Question, fit_curve, fit_none, weigh
from tripleshot.methods.protocol import HidesRelations

RIDGE = 0.5  # how much other graphs count, in relations of the graph itself
OWN_SHOTS = (1, 3, 10)
OWN_RELATIONS, OWN_QUESTIONS = 100, 6  # relations that are asked about, and questions for each number of examples
MAX_CANDIDATES = 100_000  # of a question; a relation with more is not asked about


def ask_own_relations(method: HidesRelations, num_threads: int = 1, seed: int = 0) -> list[Question]:
    """Ask about relations of a method's graph as if each were new.

    Args:
        method: that does not see the relation that it is asked about.
        num_threads: that share the relations.
        seed: draws relations, examples and heads.
    """
    rng = np.random.default_rng(seed)
    tasks = sample_relations(method.graph, rng, max_relations=OWN_RELATIONS)
    asked = [
        (number, shots, rng.permutation(len(task.pairs))) for number, task in enumerate(tasks) for shots in OWN_SHOTS
    ]

    def ask(number: int, shots: int, order: IntArray) -> list[Question]:
        return _ask(method, tasks[number], number, order[:shots], order[shots:])

    with ThreadPoolExecutor(num_threads) as workers:
        return [question for some in workers.map(ask, *zip(*asked, strict=True)) for question in some] if asked else []


def _ask(method: HidesRelations, task: Task, number: int, examples: IntArray, others: IntArray) -> list[Question]:
    """Ask about some heads of a relation; examples and others are places among its pairs."""
    support, heads = task.pairs[examples].astype(np.int64), task.pairs[others, 0]
    first = np.sort(np.unique(heads, return_index=True)[1])[:OWN_QUESTIONS]
    hidden = int(method.graph.relations.find([task.name])[0])
    pool = candidates_like(method.graph, support[:, 1], hidden)
    if not len(first) or not 1 < len(pool) <= MAX_CANDIDATES:
        return []
    score, found = method.scorer_without(task.name, support), []
    for head in heads[first].tolist():
        tails = exclude_known(support, head, pool)
        if len(tails):
            found.append(Question(number, score(head, tails), np.isin(tails, task.known_tails(head))))
    return found


def calibrate_on_graph(universal: Calibration, questions: Sequence[Question]) -> Calibration:
    """Return what holds on many graphs, fitted to what one graph says about itself.

    Args:
        universal: what holds on many graphs.
        questions: about relations of the graph.
    """
    num_relations = len({question.task for question in questions})
    if num_relations < MIN_RELATIONS:
        return universal
    weights, ridge = weigh(questions), RIDGE / num_relations
    curve = fit_curve(questions, weights, universal.curve, ridge)
    return replace(universal, curve=curve, none=fit_none(curve, questions, weights, universal.none, ridge))
