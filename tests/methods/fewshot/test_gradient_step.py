import numpy as np
import pytest
import torch

from tripleshot.datasets.episodes import TaskBatchSampler
from tripleshot.methods.fewshot.gradient_step import distance_loss, draw_wrong_tails, embed, relation_gradient
from tripleshot.methods.losses import ranking_loss


def test_the_gradient_of_a_case_done_by_hand():
    """Residuals (3, 4) and (0, 5) for margin 1: active, so the directions (0.6, 0.8) and (0, 1) are subtracted."""
    near, far = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[0.0, 5.0]]])
    torch.testing.assert_close(relation_gradient(near, far, 1.0), torch.tensor([[0.6, -0.2]]))


def test_an_example_that_keeps_its_margin_pulls_nothing():
    near, far = torch.tensor([[[0.3, 0.4]]]), torch.tensor([[[0.0, 5.0]]])
    assert relation_gradient(near, far, 1.0).abs().max() == 0


def test_the_gradient_is_that_of_autograd():
    torch.manual_seed(0)
    relation = torch.randn(6, 4, requires_grad=True)
    right, wrong = torch.randn(6, 3, 4), 2 * torch.randn(6, 3, 4)
    near, far = right + relation[:, None], wrong + relation[:, None]
    losses = torch.relu(1.0 + near.norm(dim=-1) - far.norm(dim=-1)).mean(1)  # of each relation
    (expected,) = torch.autograd.grad(losses.sum(), relation)
    torch.testing.assert_close(relation_gradient(near, far, 1.0), expected)


def test_a_residual_of_length_zero_has_a_finite_gradient():
    assert relation_gradient(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), 1.0).isfinite().all()


def test_the_loss_compares_every_true_answer_with_each_of_its_wrong_ones():
    near, far = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[[0.0, 5.5], [0.0, 9.0]]]])
    assert distance_loss(near, far, 1.0).item() == pytest.approx(0.25)
    expected = ranking_loss(torch.tensor(-5.0), torch.tensor([-5.5, -9.0]), 1.0)
    assert distance_loss(near, far, 1.0).item() == pytest.approx(expected.item())


def test_a_batch_is_looked_up_in_one_go(tiny):
    batch = TaskBatchSampler(tiny, 3, 4, 2, num_negatives=5).draw(np.random.default_rng(0))
    table = torch.nn.Embedding(tiny.graph.num_entities, 8, sparse=True)
    support, differences = embed(table, batch)
    vectors = table.weight.detach().numpy()
    np.testing.assert_array_equal(support.detach(), vectors[batch.support])
    expected = vectors[batch.queries[..., :1]] - vectors[batch.negatives]
    np.testing.assert_array_equal(differences.wrong_queries.detach(), expected)
    expected = vectors[batch.support[..., 0]] - vectors[batch.support_negatives]
    np.testing.assert_array_equal(differences.wrong_support.detach(), expected)


def test_wrong_tails_are_drawn_the_same_each_time_and_are_no_examples(tiny):
    support = tiny.test[0].support(5)
    drawn = draw_wrong_tails(tiny.graph, support)
    np.testing.assert_array_equal(drawn, draw_wrong_tails(tiny.graph, support.astype(np.int64)))
    assert not set(zip(support[:, 0].tolist(), drawn.tolist(), strict=True)) & set(map(tuple, support.tolist()))
    assert all(tiny.graph.entities.name(int(tail)).startswith("city") for tail in drawn)


def test_a_wrong_tail_is_found_where_the_only_candidate_is_the_example(tiny):
    support = np.array([[0, 20]])
    lonely = tiny.graph.with_types(None).without_relations(np.arange(tiny.graph.num_relations))
    assert draw_wrong_tails(lonely, support)[0] != 20
