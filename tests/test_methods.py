"""One contract for every method in the table: shapes, finite, deterministic, and blind to the order of candidates."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tripleshot.dataset import Task
from tripleshot.errors import InputError
from tripleshot.evaluation import evaluate, summarize
from tripleshot.method import ExplainingMethod, Method
from tripleshot.methods import METHODS, make_method

SHOTS = 3
SMALL = {"width": 16, "num_layers": 1, "num_heads": 2, "max_neighbors": 4, "max_distant": 2, "batch_size": 16}
QUICK: dict[str, dict[str, Any]] = {
    "rscl": {**SMALL, "pretraining_steps": 10, "steps": 20, "validate_every": 10, "num_sampled": 8},
}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request, tiny) -> Method:
    entry = METHODS[request.param]
    method = entry.make_with(QUICK[request.param]) if entry.learns else entry.make()
    method.fit(tiny, SHOTS)
    return method


def question(dataset):
    task = dataset.test[0]
    return task.support(SHOTS), int(task.queries(SHOTS)[0, 0]), dataset.candidates(task)


def test_one_finite_score_for_each_tail(fitted, tiny):
    support, head, tails = question(tiny)
    scores = fitted.score(support, head, tails)
    assert scores.shape == tails.shape
    assert np.isfinite(scores).all()


def test_permuting_tails_permutes_scores(fitted, tiny):
    support, head, tails = question(tiny)
    order = np.random.default_rng(0).permutation(len(tails))
    expected = fitted.score(support, head, tails)[order]
    np.testing.assert_allclose(fitted.score(support, head, tails[order]), expected, atol=1e-4)


def test_a_tail_scores_the_same_alone_as_among_others(fitted, tiny):
    support, head, tails = question(tiny)
    alone = [fitted.score(support, head, tails[i : i + 1])[0] for i in range(len(tails))]
    np.testing.assert_allclose(alone, fitted.score(support, head, tails), atol=1e-4)


def test_a_tail_asked_twice_scores_the_same_twice(fitted, tiny):
    support, head, tails = question(tiny)
    scores = fitted.score(support, head, np.concatenate([tails, tails]))
    np.testing.assert_allclose(scores[: len(tails)], scores[len(tails) :], atol=1e-4)


def test_no_tails_give_no_scores(fitted, tiny):
    support, head, tails = question(tiny)
    assert fitted.score(support, head, tails[:0]).shape == (0,)


def test_asking_again_gives_the_same_scores(fitted, tiny):
    support, head, tails = question(tiny)
    first = fitted.score(support, head, tails)
    fitted.score(tiny.test[1].support(SHOTS), head, tails)
    np.testing.assert_array_equal(fitted.score(support, head, tails), first)


def test_queries_never_reach_the_method(fitted, tiny):
    """Scores stay as they are when the query triples of the task are other ones."""
    support, head, tails = question(tiny)
    shuffled = tiny.test[0].pairs.copy()
    shuffled[SHOTS:, 1] = shuffled[SHOTS:, 1][::-1]
    changed = replace(tiny, test=(Task.of(tiny.test[0].name, shuffled), *tiny.test[1:]))
    before = fitted.score(support, head, tails)
    fitted.fit(changed, SHOTS)
    np.testing.assert_array_equal(fitted.score(support, head, tails), before)


def test_it_can_be_evaluated(fitted, tiny):
    summary = summarize(evaluate(fitted, tiny, SHOTS).ranks)
    assert 0 < summary.micro["mrr"] <= 1


def test_it_explains_itself_if_it_says_so(fitted, tiny):
    support, head, tails = question(tiny)
    if not isinstance(fitted, ExplainingMethod):
        pytest.skip("this method does not explain itself")
    for tail in tails.tolist():
        reasons = fitted.explain(support, head, tail)
        score = fitted.score(support, head, np.array([tail]))[0]
        assert sum(reason.weight for reason in reasons) == pytest.approx(score)
        assert all(reason.text for reason in reasons)


def test_an_unknown_method_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'evidence'"):
        make_method("evidense")
