"""evidence-net on small graphs."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from learning_checks import assert_queries_change_nothing, assert_resumes_to_the_same_weights
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings
from tripleshot.methods.evidence.settings import tiny as tiny_settings
from tripleshot.methods.trainable import TrainedWeights
from tripleshot.training.fit import train_run
from tripleshot.training.runs import load_run


@pytest.mark.parametrize("kinds", ["link, walk", "link walk", "link,walk"])
def test_kinds_of_evidence_are_separated_by_commas_or_blanks(kinds):
    assert EvidenceNetSettings(without_evidence=kinds).left_out == ["link", "walk"]


def test_a_kind_of_evidence_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"no evidence of the kind 'lnk'.*link"):
        EvidenceNetSettings(without_evidence="lnk")
    with pytest.raises(InputError, match=r"no evidence of the kind 'text'"):
        EvidenceNetSettings(without_evidence="text")
    assert EvidenceNetSettings(without_evidence="text", text=True).left_out == ["text"]


def test_evidence_that_is_left_out_adds_nothing(graph):
    method = EvidenceNet(EvidenceNetSettings(without_evidence="walk"))
    method.prepare(FewShotDataset("small", graph, (), (), ()), 2)
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)
    reasons = method.explain(support, graph.entities.id("ann"), graph.entities.id("south"))
    weights = {reason.kind: reason.weight for reason in reasons}
    assert weights["walk"] == pytest.approx(0, abs=1e-6)
    assert abs(weights["support"]) > 1e-4


def test_weights_that_are_restored_score_without_a_kernel_as_with_one(tiny, monkeypatch):
    trained, question = EvidenceNet(tiny_settings()), (tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities))
    trained.prepare(tiny, 3)
    trained.stages()
    weights = TrainedWeights.of(trained.state(), None, "the trained network")
    monkeypatch.setenv("TRIPLESHOT_NATIVE", "0")
    restored = EvidenceNet(tiny_settings())
    restored.restore(tiny, weights)
    np.testing.assert_allclose(restored.score(*question), trained.score(*question), rtol=5e-6, atol=1e-5)


def test_on_another_device_the_network_itself_scores_the_same(tiny, monkeypatch):
    method, question = EvidenceNet(tiny_settings()), (tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities))
    method.prepare(tiny, 3)
    expected = method.score(*question)
    method.clear_cache()
    monkeypatch.setattr(EvidenceNet, "is_on_cpu", False)
    np.testing.assert_allclose(method.score(*question), expected, rtol=5e-6, atol=1e-5)


def test_a_network_that_was_restored_can_be_changed(tiny):
    trained, restored = EvidenceNet(tiny_settings()), EvidenceNet(tiny_settings())
    trained.prepare(tiny, 3)
    arrays = {name: tensor.numpy().copy() for name, tensor in trained.module.state_dict().items()}
    arrays["hidden.bias"] += 1
    restored.restore(tiny, TrainedWeights.of(arrays, None, "arrays"))
    question = tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities)
    before = restored.score(*question)
    with torch.no_grad():
        restored.module.out.weight.mul_(2)
    restored.clear_cache()
    np.testing.assert_allclose(restored.score(*question), 2 * before, rtol=1e-5)


def test_a_network_is_as_wide_as_its_weights(tiny):
    narrow, question = EvidenceNet(EvidenceNetSettings(hidden_width=3)), (tiny.test[0].support(3), 0, np.arange(9))
    narrow.prepare(tiny, 3)
    restored = EvidenceNet()
    restored.restore(tiny, TrainedWeights.of(narrow.state(), None, "a run"))
    np.testing.assert_array_equal(restored.score(*question), narrow.score(*question))
    assert restored.module.hidden.out_features == 3


def test_weights_that_do_not_fit_together_are_refused(tiny):
    method = EvidenceNet()
    method.prepare(tiny, 3)
    broken = {**method.state(), "out.weight": np.zeros((1, 3), np.float32)}
    with pytest.raises(InputError, match=r"a run: belongs to another configuration: out.weight is \(1, 3\), not"):
        EvidenceNet().restore(tiny, TrainedWeights.of(broken, None, "a run"))


def test_the_number_of_pairs_at_once_does_not_matter(tiny, monkeypatch):
    method = EvidenceNet()
    method.prepare(tiny, 3)
    asked = tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities)
    together = method.score(*asked)
    monkeypatch.setattr("tripleshot.methods.evidence.evidence_net.MAX_PAIRS", 7)
    np.testing.assert_allclose(method.score(*asked), together, atol=1e-6)


def test_a_training_that_is_resumed_ends_with_the_same_weights(tiny, tmp_path):
    settings = replace(tiny_settings(), checkpoint_every=5)
    assert_resumes_to_the_same_weights(lambda: EvidenceNet(settings), tiny, tmp_path, stop_at=13)


def test_queries_of_test_tasks_change_nothing(tiny):
    assert_queries_change_nothing(lambda: EvidenceNet(tiny_settings()), tiny)


def test_what_examples_confirm_is_learned_and_kept_in_a_run(tiny, tmp_path):
    settings = {**asdict(tiny_settings()), "trust": True, "max_shots": 5}
    method = train_run("evidence-net", tiny, 3, tmp_path / "run", settings=settings)
    restored = load_run(tmp_path / "run", tiny)[0]
    assert isinstance(restored, EvidenceNet)
    support = tiny.test[0].pairs[:3].astype(np.int64)
    head, tails = int(tiny.test[0].pairs[3, 0]), np.arange(tiny.graph.num_entities)
    assert np.abs(restored.state()["trusted"]).max() > 0
    np.testing.assert_array_equal(method.score(support, head, tails), restored.score(support, head, tails))
    said = sum(reason.weight for reason in restored.explain(support, head, 0))
    assert said == pytest.approx(float(restored.score(support, head, tails[:1])[0]), abs=1e-4)
