import torch

from tripleshot.methods.fewshot.hyperplanes import Relations, gradients, project


def test_a_projection_done_by_hand():
    """(2, 3) along the normal (0, 1) is 3, which goes; along (0.6, 0.8) it is 3.6."""
    vectors = torch.tensor([[2.0, 3.0], [2.0, 3.0]])
    normals = torch.tensor([[0.0, 1.0], [0.6, 0.8]])
    torch.testing.assert_close(project(vectors, normals), torch.tensor([[2.0, 0.0], [-0.16, 0.12]]))


def test_what_is_projected_onto_a_hyperplane_lies_in_it():
    torch.manual_seed(0)
    normals = torch.nn.functional.normalize(torch.randn(5, 7), dim=-1)
    projected = project(torch.randn(5, 7), normals)
    torch.testing.assert_close((projected * normals).sum(-1), torch.zeros(5), atol=1e-6, rtol=0)


def test_residuals_are_head_and_relation_minus_tail_on_the_hyperplane():
    torch.manual_seed(0)
    heads, tails, vectors, normals = torch.randn(4, 3, 5), torch.randn(4, 3, 5), torch.randn(4, 5), torch.randn(4, 5)
    expected = project(heads, normals[:, None]) + vectors[:, None] - project(tails, normals[:, None])
    torch.testing.assert_close(Relations(vectors, normals).residuals(heads - tails), expected)


def test_the_gradients_are_those_of_autograd():
    torch.manual_seed(0)
    relations = Relations(*(torch.randn(6, 4, requires_grad=True) for _ in range(2)))
    near, far = torch.randn(6, 3, 4), 2 * torch.randn(6, 3, 4)
    lengths = (relations.residuals(part).norm(dim=-1) for part in (near, far))
    short, long = lengths
    losses = torch.relu(1.0 + short - long).mean(1)
    expected = torch.autograd.grad(losses.sum(), [relations.vectors, relations.normals])
    found = gradients(relations, near, far, 1.0)
    torch.testing.assert_close(found.vectors, expected[0])
    torch.testing.assert_close(found.normals, expected[1])
