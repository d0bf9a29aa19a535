"""Confidence follows what a graph says about itself, as far as it says much."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tripleshot as ts
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.calibration import Question, fit_calibration
from tripleshot.evaluation.graph_calibration import ask_own_relations, calibrate_on_graph
from tripleshot.methods.evidence.universal import Universal


def questions(share_right, num_tasks=20, num_questions=20, seed=0):
    """Make questions whose best answer is right so often, whatever the scores."""
    rng = np.random.default_rng(seed)
    return [
        Question(index % num_tasks, np.sort(rng.normal(size=9))[::-1], np.arange(9) == (rng.random() > share_right))
        for index in range(num_tasks * num_questions)
    ]


@cache
def universal(share_right):
    found = fit_calibration(questions(share_right))
    assert found is not None
    return found


def none(calibration, some):
    return float(np.mean([calibration.none_of(question.scores) for question in some]))


def confidence(calibration, some):
    return float(np.mean([calibration.confidence(question.scores).max() for question in some]))


def test_a_graph_that_says_much_about_itself_is_believed():
    elsewhere, asked = universal(0.8), questions(0.2, seed=2)
    fitted = calibrate_on_graph(elsewhere, questions(0.2, seed=1))
    assert confidence(elsewhere, asked) == pytest.approx(0.8, abs=0.05)
    assert confidence(fitted, asked) == pytest.approx(0.2, abs=0.1)


def test_hardly_any_relations_are_not_enough():
    elsewhere = universal(0.8)
    assert calibrate_on_graph(elsewhere, questions(0.2, num_tasks=4)) == elsewhere
    assert calibrate_on_graph(elsewhere, []) == elsewhere


def test_few_relations_count_less_than_many():
    elsewhere, asked = universal(0.8), questions(0.2, seed=2)
    few, many = (calibrate_on_graph(elsewhere, questions(0.2, num_tasks=size)) for size in (6, 60))
    assert confidence(elsewhere, asked) > confidence(few, asked) > confidence(many, asked)


def test_whether_any_candidate_is_right_follows_the_graph_as_well():
    elsewhere = universal(0.5)
    nothing = [replace(one, is_right=np.zeros(9, bool)) for one in questions(0.5, seed=1)]
    half = [one for pair in zip(nothing, questions(0.5, seed=2), strict=True) for one in pair]
    assert none(elsewhere, half) < 0.1
    assert none(calibrate_on_graph(elsewhere, half), half) == pytest.approx(0.5, abs=0.1)


def prepared():
    triples = [
        *((f"person {number}", "works at", f"company {number % 9}") for number in range(60)),
        *((f"company {number}", "lies in", f"city {number % 3}") for number in range(9)),
        *((f"person {number}", "lives in", f"city {number % 9 % 3}") for number in range(60)),
    ]
    method = Universal()
    method.prepare(FewShotDataset("people", ts.read_graph(triples), (), (), ()), 3)
    return method


def test_relations_are_asked_about_as_if_they_were_new():
    found = ask_own_relations(prepared().network)
    assert {question.task for question in found} == {0, 1, 2}
    right = [question.is_right[np.argmax(question.scores)] for question in found if question.task == 2]
    assert np.mean(right) > 0.8, "where people live follows from where they work"
    assert not all(question.is_right[np.argmax(question.scores)] for question in found)


def test_the_number_of_threads_changes_nothing():
    network = prepared().network
    one, several = ask_own_relations(network), ask_own_relations(network, num_threads=3)
    assert len(one) == len(several)
    for first, second in zip(one, several, strict=True):
        np.testing.assert_array_equal(first.scores, second.scores)
