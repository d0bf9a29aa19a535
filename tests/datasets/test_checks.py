from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.checks import check_dataset
from tripleshot.datasets.dataset import Task


def problems(dataset, shots=5):
    return [finding.text for finding in check_dataset(dataset, shots) if finding.is_problem]


def test_a_sound_dataset_has_no_problem(tiny):
    without_copy = replace(tiny, test=tiny.test[1:], train=tiny.train[:1])
    assert problems(without_copy) == []


def test_a_copy_in_the_background_is_a_leak(tiny):
    assert problems(tiny) == ["background relation 'lives in' is a copy of 'works in' (100% of its pairs)"]


def test_an_inverse_in_the_background_is_a_leak(tiny):
    backwards = replace(tiny.test[0], pairs=tiny.test[0].pairs[:, ::-1])
    assert any("is the inverse of 'works in'" in text for text in problems(replace(tiny, test=(backwards,))))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (Task.of("few", np.array([[0, 1], [2, 3]])), "test relation 'few' has 2 triples: none left to ask"),
        (
            Task.of("lives in", np.array([[i, 25] for i in range(9)])),
            "test relation 'lives in' is in the background too",
        ),
        (Task.of("twice", np.array([[i % 6, 25] for i in range(9)])), "test relation 'twice' has 3 triples twice"),
        (Task.of("out", np.array([[i, 25] for i in range(9)]), None, np.array([1])), "9 answers are not among"),
        (Task.of("born in", np.array([[i, 25] for i in range(9)])), "'born in' is a valid and a test task"),
    ],
)
def test_what_spoils_an_evaluation_is_found(tiny, task, message):
    assert any(message in text for text in problems(replace(tiny, test=(task,))))


def test_unknown_types_are_worth_a_notice(tiny):
    findings = check_dataset(replace(tiny, graph=tiny.graph.with_types(None)))
    assert any("types are unknown" in finding.text and not finding.is_problem for finding in findings)


def test_a_dataset_without_background_or_without_tasks_is_a_problem(tiny):
    bare = tiny.graph.without_relations(np.arange(tiny.graph.num_relations))
    assert problems(replace(tiny, graph=bare)) == [
        "the background graph has no triple: there is nothing to find an answer in"
    ]
    assert problems(replace(tiny, train=(), valid=(), test=())) == [
        "there is no few-shot relation: nothing can be learned or asked"
    ]


def test_a_missing_split_is_worth_a_notice(tiny):
    findings = check_dataset(replace(tiny, valid=(), test=()))
    assert [finding.text for finding in findings] == ["there is no valid task", "there is no test task"]
    assert not any(finding.is_problem for finding in findings)
