import torch

from tripleshot.methods.evidence.evidence_head import EvidenceHead


def test_features_are_seen_by_how_unusual_they_are():
    head = EvidenceHead(2, 4)
    head.standardize(torch.tensor([[0.0, 10], [2, 30]]))
    usual = head(torch.tensor([1.0, 20]))
    torch.testing.assert_close(usual, head.out(torch.nn.functional.gelu(head.hidden.bias)).squeeze())


def test_without_a_feature_it_is_as_usual():
    head = EvidenceHead(2, 4)
    head.standardize(torch.tensor([[0.0, 10], [2, 30]]))
    ignored = head(torch.tensor([5.0, 20]), without=torch.tensor([True, False]))
    torch.testing.assert_close(ignored, head(torch.tensor([1.0, 20])))


def test_a_feature_that_is_left_out_says_nothing():
    head = EvidenceHead(2, 4, left_out=torch.tensor([True, False]))
    rows = head(torch.tensor([[5.0, 20], [-3, 20], [5, 21]]))
    assert rows[0] == rows[1] != rows[2]


def test_a_feature_that_never_changes_does_no_harm():
    head = EvidenceHead(1, 4)
    head.standardize(torch.ones(8, 1))
    assert torch.isfinite(head(torch.ones(3, 1))).all()
