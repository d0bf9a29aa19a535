"""evidence-net on small graphs."""

from dataclasses import replace

import numpy as np
import pytest

from learning_checks import assert_queries_change_nothing, assert_resumes_to_the_same_weights
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.methods.evidence.evidence_net import EvidenceNet, EvidenceNetSettings
from tripleshot.methods.evidence.evidence_net import tiny as tiny_settings


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
