"""The network over features, and scores that are added up from parts."""

import numpy as np
import pytest
import torch

from tripleshot.methods.evidence import native
from tripleshot.methods.evidence.evidence_net import EvidenceNet, EvidenceNetSettings
from tripleshot.methods.evidence.scoring import FeatureScorer

needs_compiler = pytest.mark.skipif(native.library() is None, reason="no C compiler")


def test_features_are_seen_by_how_unusual_they_are():
    scorer = FeatureScorer(2, 4)
    scorer.standardize(torch.tensor([[0.0, 10], [2, 30]]))
    usual = scorer(torch.tensor([1.0, 20]))
    torch.testing.assert_close(usual, scorer.out(torch.nn.functional.gelu(scorer.hidden.bias)).squeeze())


def test_without_a_feature_it_is_as_usual():
    scorer = FeatureScorer(2, 4)
    scorer.standardize(torch.tensor([[0.0, 10], [2, 30]]))
    ignored = scorer(torch.tensor([5.0, 20]), without=torch.tensor([True, False]))
    torch.testing.assert_close(ignored, scorer(torch.tensor([1.0, 20])))


def test_a_feature_that_is_left_out_says_nothing():
    scorer = FeatureScorer(2, 4, left_out=torch.tensor([True, False]))
    rows = scorer(torch.tensor([[5.0, 20], [-3, 20], [5, 21]]))
    assert rows[0] == rows[1] != rows[2]


def test_a_feature_that_never_changes_does_no_harm():
    scorer = FeatureScorer(1, 4)
    scorer.standardize(torch.ones(8, 1))
    assert torch.isfinite(scorer(torch.ones(3, 1))).all()


def test_contributions_of_groups_add_up_to_the_score():
    torch.manual_seed(0)
    scorer, features = FeatureScorer(3, 4), torch.tensor([1.0, -2, 3])
    added, rest = scorer.contributions(features, torch.tensor([[True, False, False], [False, True, False]]))
    assert sum(added) + rest == pytest.approx(float(scorer(features).detach()), abs=1e-6)
    both = torch.tensor([True, True, False])
    assert rest == pytest.approx(float(scorer(features, both).detach()), abs=1e-6)


def prepared(dataset, **settings):
    """Return an untrained network that has seen what features look like."""
    method = EvidenceNet(EvidenceNetSettings(batch_size=16, num_negatives=16, **settings))
    method.prepare(dataset, 3)
    method.stages()
    return method


@needs_compiler
@pytest.mark.parametrize("settings", [{}, {"without_evidence": "walk, similarity"}, {"hidden_width": 13}], ids=str)
def test_scores_from_parts_are_those_of_the_network_on_all_features(tiny, settings):
    method = prepared(tiny, **settings)
    tails = np.arange(tiny.graph.num_entities)[::-1]
    for task in (*tiny.test, *tiny.train):
        support = task.support(3)
        for head in task.pairs[:6, 0].tolist():
            features = torch.from_numpy(method.features(support, head, tails))
            expected = method.module(features).detach().numpy()
            np.testing.assert_allclose(method.score(support, head, tails), expected, rtol=5e-6, atol=1e-5)


@needs_compiler
def test_a_tail_has_the_same_score_to_the_bit_among_any_others(tiny):
    method = prepared(tiny)
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    together = method.score(support, 0, tails)
    alone = []
    for tail in tails:
        method.clear_cache()
        alone.append(method.score(support, 0, tails[[tail]])[0])
    assert alone == together.tolist()


@needs_compiler
def test_changed_weights_are_seen_once_the_cache_is_cleared(tiny):
    method = prepared(tiny)
    asked = tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities)
    before = method.score(*asked)
    with torch.no_grad():
        method.module.out.weight.mul_(2)
    method.clear_cache()
    np.testing.assert_allclose(method.score(*asked), 2 * before, rtol=1e-5)
