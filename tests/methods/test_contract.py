"""One contract for every method, those of other packages, too; one that learns is trained with its preset `tiny`."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tripleshot.datasets.dataset import Task
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import MethodEntry, create_method, find_method, list_methods
from tripleshot.methods.protocol import ExplainingMethod, Method
from tripleshot.methods.trainable import TrainableMethod
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights

SHOTS = 3


@dataclass
class Fitted:
    """A fitted method, the folder it wrote into, and which of its weights have had a gradient."""

    entry: MethodEntry
    settings: dict[str, Any] | None
    method: Method
    folder: Path
    weights: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)


@pytest.fixture(scope="module", params=list_methods())
def fitted(request, tiny, tmp_path_factory) -> Fitted:
    entry = find_method(request.param)
    settings = asdict(entry.preset("tiny")) if entry.learns else None
    method = entry.create(settings)
    found = Fitted(entry, settings, method, tmp_path_factory.mktemp(request.param))

    def watch(update):
        assert isinstance(method, TrainableMethod)
        learning = {name: value.grad for name, value in method.module.named_parameters() if value.requires_grad}
        found.weights |= learning.keys()
        found.moved |= {name for name, slope in learning.items() if slope is not None and reaches(slope)}

    fit(method, tiny, SHOTS, found.folder, callback=watch)
    return found


def reaches(slope: torch.Tensor) -> bool:
    return bool((slope.coalesce().values() if slope.is_sparse else slope).any())


def question(dataset):
    task = dataset.test[0]
    return task.support(SHOTS), int(task.queries(SHOTS)[0, 0]), dataset.candidates(task)


def test_one_finite_score_for_each_tail(fitted, tiny):
    support, head, tails = question(tiny)
    scores = fitted.method.score(support, head, tails)
    assert scores.shape == tails.shape
    assert np.isfinite(scores).all()


def test_permuting_tails_permutes_scores(fitted, tiny):
    support, head, tails = question(tiny)
    order = np.random.default_rng(0).permutation(len(tails))
    expected = fitted.method.score(support, head, tails)[order]
    np.testing.assert_allclose(fitted.method.score(support, head, tails[order]), expected, atol=1e-4)


def test_a_tail_scores_the_same_alone_as_among_others(fitted, tiny):
    support, head, tails = question(tiny)
    alone = [fitted.method.score(support, head, tails[i : i + 1])[0] for i in range(len(tails))]
    np.testing.assert_allclose(alone, fitted.method.score(support, head, tails), atol=1e-4)


def test_a_tail_asked_twice_scores_the_same_twice(fitted, tiny):
    support, head, tails = question(tiny)
    scores = fitted.method.score(support, head, np.concatenate([tails, tails]))
    np.testing.assert_allclose(scores[: len(tails)], scores[len(tails) :], atol=1e-4)


def test_no_tails_give_no_scores(fitted, tiny):
    support, head, tails = question(tiny)
    assert fitted.method.score(support, head, tails[:0]).shape == (0,)


def test_asking_again_gives_the_same_scores(fitted, tiny):
    support, head, tails = question(tiny)
    first = fitted.method.score(support, head, tails)
    fitted.method.score(tiny.test[1].support(SHOTS), head, tails)
    np.testing.assert_array_equal(fitted.method.score(support, head, tails), first)


def test_examples_that_no_task_has_are_answered_too(fitted, tiny):
    support, head, tails = question(tiny)
    new = np.stack([support[:, 0], np.roll(support[:, 1], 1)], axis=1)
    scores = fitted.method.score(new, head, tails)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(fitted.method.score(new, head, tails), scores)


def test_gradients_reach_every_weight(fitted):
    if not fitted.entry.learns:
        pytest.skip("this method does not learn")
    assert fitted.weights
    assert fitted.weights - fitted.moved == set()


def test_a_run_that_is_loaded_scores_like_the_one_that_was_saved(fitted, tiny):
    if not fitted.entry.learns:
        pytest.skip("this method does not learn")
    again = fitted.entry.create(fitted.settings)
    assert isinstance(again, TrainableMethod)
    again.restore(tiny, load_trained_weights(fitted.folder))
    np.testing.assert_array_equal(again.score(*question(tiny)), fitted.method.score(*question(tiny)))


def test_the_same_seed_gives_the_same_scores_whatever_the_queries_are(fitted, tiny):
    """Fit it again where the query triples of a test task are other ones: nothing of them may reach the method."""
    support, head, tails = question(tiny)
    shuffled = tiny.test[0].pairs.copy()
    shuffled[SHOTS:, 1] = shuffled[SHOTS:, 1][::-1]
    changed = replace(tiny, test=(Task.of(tiny.test[0].name, shuffled), *tiny.test[1:]))
    again = fitted.entry.create(fitted.settings)
    fit(again, changed, SHOTS)
    np.testing.assert_array_equal(again.score(support, head, tails), fitted.method.score(support, head, tails))


def test_it_can_be_evaluated(fitted, tiny):
    summary = evaluate(fitted.method, tiny, SHOTS).summary
    assert 0 < summary.micro["mrr"] <= 1


def test_it_explains_itself_if_it_says_so(fitted, tiny):
    support, head, tails = question(tiny)
    method = fitted.method
    if not isinstance(method, ExplainingMethod):
        pytest.skip("this method does not explain itself")
    if not method.explain(support, head, int(tails[0])):
        pytest.skip("what this method says is all in its attention")
    for tail in tails.tolist():
        reasons = method.explain(support, head, tail)
        score = method.score(support, head, np.array([tail]))[0]
        assert sum(reason.weight for reason in reasons) == pytest.approx(score, abs=1e-4)
        assert all(reason.text for reason in reasons)


def test_an_unknown_method_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'evidence'"):
        create_method("evidense")
