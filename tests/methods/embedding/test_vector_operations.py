import pytest
import torch
from torch.nn import functional

from tripleshot.methods.embedding.vector_operations import grouped_product, unit


def test_a_unit_vector_and_its_gradient_are_those_of_normalize():
    vectors = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(unit(vectors), functional.normalize(vectors, dim=-1))
    assert torch.autograd.gradcheck(unit, vectors)


def test_a_zero_vector_stays_zero():
    vectors = torch.zeros(2, 3, requires_grad=True)
    found = unit(vectors)
    found.sum().backward()
    assert not found.any()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [[0, 0, 2, 2, 2, 3], [1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 4]])
def test_grouped_products_and_their_gradients_are_those_of_one_product_a_row(rows, transposed):
    vectors = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(5, *((2, 4) if transposed else (4, 2)), dtype=torch.float64, requires_grad=True)
    rows = torch.tensor(rows)

    def product(vectors, matrices):
        return grouped_product(vectors, matrices, rows, transposed)

    plain = matrices.transpose(1, 2) if transposed else matrices
    torch.testing.assert_close(product(vectors, matrices), torch.bmm(vectors, plain[rows]))
    assert torch.autograd.gradcheck(product, (vectors, matrices))
