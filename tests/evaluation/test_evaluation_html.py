from dataclasses import replace

import numpy as np

from shown_html import HOSTILE, check_shown
from tripleshot.evaluation.protocol import evaluate


class ById:
    """Prefers entities with a low id."""

    def score(self, support, head, tails):
        return -np.asarray(tails, dtype=float)


def test_an_evaluation_shows_the_metrics_of_each_relation_and_their_means(tiny):
    evaluation = evaluate(ById(), tiny, 1)
    shown = check_shown(evaluation.to_html())
    for task in tiny.test:
        assert task.label or task.name in shown.text
    assert f"mean of queries{len(evaluation):,}{evaluation.mrr:.3f}" in shown.text


def test_names_of_relations_are_text(tiny):
    tasks = tuple(replace(task, name=HOSTILE[0], label=HOSTILE[1]) for task in tiny.test[:1])
    shown = check_shown(evaluate(ById(), replace(tiny, name=HOSTILE[2], test=tasks), 1).to_html())
    assert HOSTILE[1] in shown.text
    assert HOSTILE[2] in shown.text
