"""The loss and its gradient with arrays alone are those of torch, and so are those of the kernel."""

import numpy as np
import pytest
import torch

from tripleshot.methods.evidence import native
from tripleshot.methods.evidence.native.network import learn
from tripleshot.methods.evidence.plain_learning import learn_plainly
from tripleshot.methods.losses import listwise_loss


def made_up(seed=0, groups=3, queries=4, tails=9, num_features=6, width=5):
    rng = np.random.default_rng(seed)
    sizes = (groups, queries, tails, num_features), (width, num_features), (width,), (width,), (groups,)
    features, weights, bias, out, offsets = (rng.normal(size=size).astype(np.float32) for size in sizes)
    return features, (weights, bias, out), offsets


def by_torch(features, layers, offsets):
    weights, bias, out = (torch.tensor(layer, requires_grad=True) for layer in layers)
    hidden = torch.nn.functional.gelu(torch.from_numpy(features) @ weights.T + bias)
    loss = listwise_loss(hidden @ out, torch.from_numpy(offsets).exp()[:, None, None])
    return loss.item(), [layer.numpy() for layer in torch.autograd.grad(loss, (weights, bias, out))]


@pytest.mark.parametrize(
    "shape", [{}, {"groups": 1, "queries": 1, "tails": 2}, {"num_features": 1, "width": 1}], ids=str
)
def test_loss_and_gradient_are_those_of_torch(shape):
    given = made_up(**shape)
    (loss, gradients), (expected, right) = learn_plainly(*given), by_torch(*given)
    assert loss == pytest.approx(expected, rel=1e-4)
    for ours, theirs in zip(gradients, right, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.skipif(native.library() is None, reason="no C compiler")
def test_the_kernel_agrees():
    given = made_up(seed=1)
    (loss, gradients), (expected, right) = learn(*given), learn_plainly(*given)
    assert loss == pytest.approx(expected, rel=1e-4)
    for ours, theirs in zip(gradients, right, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_scores_far_apart_do_no_harm():
    features, (weights, bias, out), offsets = made_up()
    loss, gradients = learn_plainly(features, (weights, bias, out * np.float32(1e4)), offsets)
    assert np.isfinite(loss)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
