import math

import pytest
import torch

from tripleshot.methods.losses import (
    corruption_loss,
    exact_token_loss,
    listwise_loss,
    ranking_loss,
    sampled_token_loss,
)


def test_the_ranking_loss_is_the_papers():
    """max(0, 5 + S- - S+): 5 + 1 - 3 = 3, and 0 where the margin is kept."""
    loss = ranking_loss(torch.tensor([3.0, 9.0]), torch.tensor([1.0, 2.0]), margin=5.0)
    assert loss.item() == pytest.approx((3 + 0) / 2)


def test_the_softmax_of_a_triple_among_wrong_ones_is_the_cross_entropy():
    scores = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 5.0]])
    expected = torch.nn.functional.cross_entropy(scores, torch.zeros(2, dtype=torch.int64))
    torch.testing.assert_close(corruption_loss(scores, "softmax", 0.0), expected)


def test_the_exact_loss_is_minus_the_log_of_the_softmax():
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    loss = exact_token_loss(torch.tensor([[2.0, 1.0]]), table, torch.tensor([0]))
    assert loss.item() == pytest.approx(-math.log(math.e**2 / (math.e**2 + math.e + 1)))


def test_sampling_every_other_token_once_is_exact():
    torch.manual_seed(0)
    table, states, targets = torch.randn(40, 8), torch.randn(5, 8), torch.tensor([3, 3, 3, 3, 3])
    others = torch.tensor([token for token in range(40) if token != 3])
    sampled = sampled_token_loss(states, targets, others, table, vocabulary=39)
    torch.testing.assert_close(sampled, exact_token_loss(states, table, targets))


def test_the_sampled_loss_is_near_the_exact_one_on_average():
    torch.manual_seed(0)
    table, states, targets = torch.randn(500, 8) / 2, torch.randn(64, 8), torch.randint(500, (64,))
    draws = [sampled_token_loss(states, targets, torch.randint(500, (200,)), table, 500) for _ in range(50)]
    expected = exact_token_loss(states, table, targets)
    assert torch.stack(draws).mean().item() == pytest.approx(expected.item(), rel=0.02)


def test_the_gradient_of_the_sampled_loss_touches_only_rows_in_use():
    table = torch.randn(1000, 4, requires_grad=True)
    loss = sampled_token_loss(torch.randn(3, 4), torch.tensor([1, 2, 3]), torch.tensor([7, 8]), table, 1000)
    loss.backward()
    assert table.grad is not None
    assert table.grad.is_sparse
    assert set(table.grad.coalesce().indices()[0].tolist()) == {1, 2, 3, 7, 8}


def test_a_sampled_token_that_is_the_target_does_not_count_against_it():
    table, states = torch.randn(10, 4), torch.randn(1, 4)
    with_target = sampled_token_loss(states, torch.tensor([4]), torch.tensor([4, 5]), table, 10)
    positive, other = states @ table[4], states @ table[5] + math.log(10 / 2)
    torch.testing.assert_close(with_target, (torch.logaddexp(positive, other) - positive).squeeze())


def test_a_wrong_answer_counts_for_all_that_it_stands_for():
    loss = listwise_loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[3.0, 10.0]]))
    assert loss.item() == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 3 * math.exp(1) + 10)))
