"""What the network has learned, without torch."""

import numpy as np
import pytest
import torch

from tripleshot.errors import InputError
from tripleshot.methods.evidence.network_weights import NetworkWeights, gelu
from tripleshot.methods.evidence.scoring import FeatureScorer

NUM_FEATURES, WIDTH = 7, 13


def make_networks(left_out=(), follows_trust=False):
    """Return a network as it is trained, which has seen features, and its weights as arrays."""
    torch.manual_seed(0)
    ignored = np.isin(np.arange(NUM_FEATURES), left_out)
    module = FeatureScorer(NUM_FEATURES, WIDTH, torch.from_numpy(ignored), follows_trust)
    module.standardize(3 * torch.randn(50, NUM_FEATURES) + 1)
    return module, NetworkWeights.of(arrays_of(module), ignored, "a run")


def arrays_of(module):
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def test_gelu_is_that_of_torch():
    values = np.concatenate([np.linspace(-9, 9, 100_001), [-1e4, -0.0, 1e4]]).astype(np.float32)
    expected = torch.nn.functional.gelu(torch.from_numpy(values).double()).numpy()
    np.testing.assert_allclose(gelu(values), expected, rtol=1e-7, atol=1e-7)
    assert gelu(values).dtype == np.float32


@pytest.mark.parametrize("left_out", [(), (1, 4)])
def test_scores_are_those_of_the_network_as_it_is_trained(left_out):
    module, network = make_networks(left_out)
    features = 5 * torch.randn(200, NUM_FEATURES)
    scores = network.score(features.numpy())
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, module(features).detach().numpy(), atol=1e-6)
    for own, trained in zip(network.first_layer(), module.first_layer(), strict=True):
        np.testing.assert_allclose(own, trained.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("left_out", [(), (1, 4)])
def test_what_is_usual_elsewhere_changes_units_but_no_score(left_out):
    _, network = make_networks(left_out)
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(99, NUM_FEATURES)) * np.logspace(-1, 1, NUM_FEATURES) + 2).astype(np.float32)
    features[:, 3] = 0.5
    other = network.standardized(features)
    np.testing.assert_allclose(other.score(features), network.score(features), atol=1e-5)
    np.testing.assert_allclose(other.mean, features.mean(axis=0))
    is_varied = np.arange(NUM_FEATURES) != 3
    np.testing.assert_allclose(other.deviation[is_varied], features.std(axis=0)[is_varied])
    assert other.deviation[3] == network.deviation[3]


def test_contributions_of_groups_add_up_to_the_score():
    module, network = make_networks()
    features, groups = torch.randn(NUM_FEATURES), np.zeros((2, NUM_FEATURES), dtype=bool)
    groups[0, 0] = groups[1, 1:3] = True
    added, rest = network.contributions(features.numpy(), groups)
    assert sum(added) + rest == pytest.approx(float(module(features).detach()), abs=1e-6)
    without = torch.from_numpy(groups.any(0))
    assert rest == pytest.approx(float(module(features, without).detach()), abs=1e-6)


def test_two_groups_share_what_they_say_together():
    _, network = make_networks()
    features, groups = np.full(NUM_FEATURES, 2, dtype=np.float32), np.eye(2, NUM_FEATURES, dtype=bool)
    forwards, backwards = network.contributions(features, groups), network.contributions(features, groups[::-1])
    np.testing.assert_allclose(forwards[0], backwards[0][::-1], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mean": np.zeros(3)}, "mean is (3,), not (7,)"),
        ({"more": np.zeros(2)}, "more is (2,), not nothing"),
        ({"out.weight": None}, "out.weight is nothing, not (1, 13)"),
    ],
)
def test_weights_of_another_network_are_refused(change, reason):
    module, network = make_networks()
    changed = {name: array for name, array in (arrays_of(module) | change).items() if array is not None}
    with pytest.raises(InputError) as refused:
        NetworkWeights.of(changed, network.left_out, "a run")
    assert str(refused.value) == f"a run: belongs to another configuration: {reason}"


def trusting_networks(left_out=()):
    """Return both networks, which follow trust in some way."""
    module, _ = make_networks(left_out, follows_trust=True)
    with torch.no_grad():
        for weights in (module.trusted, module.trusting):
            assert weights is not None
            weights.normal_()
    return module, NetworkWeights.of(arrays_of(module), np.isin(np.arange(NUM_FEATURES), left_out), "a run")


@pytest.mark.parametrize("left_out", [(), (1, 4)])
def test_trust_changes_scores_as_in_the_network_that_is_trained(left_out):
    module, network = trusting_networks(left_out)
    features, trust = 5 * torch.randn(200, NUM_FEATURES), 2 * torch.rand(NUM_FEATURES) - 1
    scores = network.for_relation(trust.numpy()).score(features.numpy())
    np.testing.assert_allclose(scores, module(features, trust=trust).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert not np.allclose(scores, network.score(features.numpy()), atol=1e-2)


@pytest.mark.parametrize("left_out", [(), (1, 4)])
def test_other_units_change_no_score_of_a_relation_that_trusts(left_out):
    _, network = trusting_networks(left_out)
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(99, NUM_FEATURES)) * np.logspace(-1, 1, NUM_FEATURES) + 2).astype(np.float32)
    trust = rng.uniform(-1, 1, NUM_FEATURES).astype(np.float32)
    other = network.standardized(features).for_relation(trust)
    np.testing.assert_allclose(other.score(features), network.for_relation(trust).score(features), rtol=1e-4, atol=1e-4)


def test_weights_without_trust_follow_none():
    module, network = make_networks()
    assert not any(name.startswith("trust") for name in arrays_of(module))
    older = NetworkWeights.of(arrays_of(module), network.left_out, "a run without trust")
    features = np.random.default_rng(0).normal(size=(20, NUM_FEATURES)).astype(np.float32)
    for trust in (np.zeros(NUM_FEATURES, np.float32), np.ones(NUM_FEATURES, np.float32)):
        np.testing.assert_array_equal(older.for_relation(trust).score(features), network.score(features))


@pytest.mark.parametrize("share", [0.0, 0.5, 2 / 3])
def test_each_of_two_joined_networks_has_its_share_of_a_score(share):
    _, network = make_networks()
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, NUM_FEATURES)).astype(np.float32)
    other = network.untrained(WIDTH + 3, rng)
    expected = (1 - share) * network.score(features) + share * other.score(features)
    joined = network.joined(other, share).score(features)
    assert joined.dtype == np.float32
    np.testing.assert_allclose(joined, expected, rtol=1e-4, atol=1e-5)
    assert not np.allclose(network.score(features), other.score(features), atol=1e-2)


def test_a_network_that_misses_features_sees_what_they_usually_are():
    _, network = make_networks(left_out=(1,))
    features = np.random.default_rng(0).normal(size=(20, NUM_FEATURES)).astype(np.float32)
    missed = np.isin(np.arange(NUM_FEATURES), [2, 5])
    usual = np.where(missed, network.mean, features)
    np.testing.assert_allclose(network.without(missed).score(features), network.score(usual), atol=1e-5)
    assert not np.allclose(network.without(missed).score(features), network.score(features), atol=1e-2)


def test_columns_are_the_whole_network():
    _, network = make_networks()
    wide = network.joined(network.untrained(WIDTH, np.random.default_rng(0)), 0.5)
    assert all(column.ndim == 1 for column in wide.columns.values())
    again = network.with_columns(wide.columns).state()
    for name, array in wide.state().items():
        np.testing.assert_array_equal(again[name], array)
