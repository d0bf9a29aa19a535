from importlib.util import find_spec

import numpy as np
import pytest

from tripleshot.errors import InputError
from tripleshot.methods import find_method
from tripleshot.methods.embedding import pykeen as pykeen_adapter
from tripleshot.methods.trainable import TrainableMethod
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights

SMALL = {"width": 8, "batch_size": 32, "num_negatives": 4, "steps": 20, "validate_every": 10, "warmup": 2}
needs_pykeen = pytest.mark.skipif(find_spec("pykeen") is None, reason="PyKEEN is not installed")


def question(dataset):
    task = dataset.test[0]
    return task.support(3), int(task.queries(3)[0, 0]), dataset.candidates(task)


def test_without_pykeen_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pykeen_adapter, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pykeen:RotatE needs PyKEEN: pip install 'tripleshot\[pykeen\]'"):
        find_method("pykeen:RotatE").preset("fast")


def test_a_model_must_be_named():
    with pytest.raises(InputError, match="unknown method 'pykeen:'"):
        find_method("pykeen:")


@needs_pykeen
def test_an_unknown_model_suggests_the_nearest():
    with pytest.raises(InputError, match="PyKEEN has no model 'RotateE'; did you mean 'rotate'"):
        find_method("pykeen:RotateE").preset("fast")


@needs_pykeen
@pytest.mark.parametrize("name", ["RotatE", "TransE"])
def test_it_learns_scores_candidates_and_is_found_again_in_its_folder(tiny, tmp_path, name):
    entry = find_method(f"pykeen:{name}")
    method = entry.create(SMALL)
    fit(method, tiny, 3, tmp_path)
    support, head, tails = question(tiny)
    scores = method.score(support, head, tails)
    assert scores.shape == tails.shape
    assert np.isfinite(scores).all()
    again = entry.create(SMALL)
    assert isinstance(again, TrainableMethod)
    again.restore(tiny, load_trained_weights(tmp_path))
    np.testing.assert_array_equal(again.score(support, head, tails), scores)
    alone = [method.score(support, head, tails[i : i + 1])[0] for i in range(len(tails))]
    np.testing.assert_allclose(alone, scores, atol=1e-5)
    assert method.score(support, head, tails[:0]).shape == (0,)


@needs_pykeen
def test_a_new_relation_takes_the_trained_one_that_suits_its_examples(tiny):
    method = find_method("pykeen:DistMult").create({**SMALL, "steps": 200, "learning_rate": 0.05})
    fit(method, tiny, 3)
    support = tiny.train[0].pairs[5:12]
    _, head, tails = question(tiny)
    scores = method.score(support, head, tails)
    np.testing.assert_array_equal(method.score(support[::-1], head, tails), scores)
