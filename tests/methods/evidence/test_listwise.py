"""The loss of the kernel is that of torch, and so is its gradient."""

import pytest
import torch

from tripleshot.methods.evidence import native
from tripleshot.methods.evidence.listwise import evidence_loss
from tripleshot.methods.evidence.scoring import FeatureScorer
from tripleshot.methods.losses import listwise_loss

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler")


def learn(network, features, without, weights, is_native, trust=None):
    """Return the loss and the gradient by all weights, twice the loss having been asked for."""
    network.zero_grad()
    trust = torch.zeros(len(features), features.shape[-1]) if trust is None else trust
    loss = evidence_loss(network, features, trust, without, weights, is_native)
    (2 * loss).backward()
    return [loss.detach(), *(parameter.grad.clone() for parameter in network.parameters())]


def make_network(width, num_features, features, left_out=None, follows_trust=False):
    torch.manual_seed(0)
    network = FeatureScorer(num_features, width, left_out, follows_trust)
    network.standardize(features.flatten(0, -2))
    return network


@pytest.mark.parametrize("width", [1, 13, 16, 48])
@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (3, 4, 17, 36), (2, 2, 6, 40), (2, 3, 1, 5)], ids=str)
def test_loss_and_gradient_are_those_of_torch(width, shape):
    torch.manual_seed(1)
    features, weights = torch.randn(shape) * 3, torch.rand(shape[0]) * 50 + 1
    network, without = make_network(width, shape[-1], torch.randn(2, 50, shape[-1])), torch.rand(shape[-1]) < 0.3
    plain = listwise_loss(network(features, without), weights[:, None, None])
    found = learn(network, features, without, weights, True)
    torch.testing.assert_close(found[0], plain.detach(), rtol=1e-5, atol=1e-5)
    for ours, expected in zip(found, learn(network, features, without, weights, False), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("left_out", [None, torch.tensor([True, False, False, False, True])])
def test_what_a_relation_trusts_changes_its_loss_and_no_other(left_out):
    torch.manual_seed(1)
    features, weights, without = torch.randn(3, 4, 9, 5), torch.rand(3) * 50 + 1, torch.rand(5) < 0.3
    network = make_network(16, 5, torch.randn(2, 50, 5), left_out, follows_trust=True)
    with torch.no_grad():
        for part in (network.trusted, network.trusting):
            assert part is not None
            part.normal_()
    trust = torch.stack([torch.zeros(5), torch.rand(5), -torch.rand(5)])
    native, plain = (learn(network, features, without, weights, is_native, trust) for is_native in (True, False))
    for ours, expected in zip(native, plain, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
    alone = [learn(network, features[[n]], without, weights[[n]], True, trust[[n]])[0] for n in range(3)]
    torch.testing.assert_close(native[0], torch.stack(alone).mean())
    assert not native[0].isclose(learn(network, features, without, weights, True)[0])


def test_scores_far_apart_do_no_harm():
    features = torch.randn(2, 2, 5, 4)
    network = make_network(8, 4, features)
    with torch.no_grad():
        network.out.weight.mul_(1e4)
    nothing, weights = torch.zeros(4, dtype=torch.bool), torch.ones(2)
    found, right = (learn(network, features, nothing, weights, is_native) for is_native in (True, False))
    for ours, expected in zip(found, right, strict=True):
        assert torch.isfinite(ours).all()
        torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-2)


def test_a_feature_that_is_left_out_learns_nothing():
    features, left_out = torch.randn(2, 2, 5, 4), torch.tensor([True, False, False, False])
    network = make_network(8, 4, features, left_out)
    gradients = learn(network, features, torch.tensor([False, True, False, False]), torch.ones(2), True)
    by_weights = dict(zip((name for name, _ in network.named_parameters()), gradients[1:], strict=True))[
        "hidden.weight"
    ]
    assert not by_weights[:, :2].any()
    assert by_weights[:, 2:].all()


def test_the_number_of_threads_changes_nothing():
    features, nothing = torch.randn(8, 4, 33, 36), torch.zeros(36, dtype=torch.bool)
    network = make_network(48, 36, features)
    before = torch.get_num_threads()
    try:
        found = []
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(learn(network, features, nothing, torch.ones(8), True))
    finally:
        torch.set_num_threads(before)
    for alone, together in zip(*found, strict=True):
        assert torch.equal(alone, together)
