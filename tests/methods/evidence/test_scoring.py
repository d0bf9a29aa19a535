"""The network over features, as it is trained."""

import torch

from tripleshot.methods.evidence.scoring import FeatureScorer


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
