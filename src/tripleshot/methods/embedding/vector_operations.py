"""Two operations on many vectors, each with a backward pass of its own that goes over them as seldom as possible."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

LEAST_LENGTH = 1e-12


def unit(vectors: Tensor) -> Tensor:
    """Bring vectors, shape (..., d), to length one; a zero vector stays."""
    return _Unit.apply(vectors)


def grouped_product(vectors: Tensor, matrices: Tensor, rows: Tensor, transposed: bool = False) -> Tensor:
    """Multiply vectors by the matrix of their row: one product for all rows that share a matrix, which is not copied.

    Args:
        vectors: shape (b, n, d).
        matrices: shape (m, d, k).
        rows: shape (b,), sorted: which matrix is each row's.
        transposed: multiply by the transposed matrix; vectors then have shape (b, n, k).

    Returns:
        shape (b, n, k), or (b, n, d) if transposed.
    """
    return _GroupedProduct.apply(vectors, matrices, rows, transposed)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:  # noqa: ANN401 (torch declares no type for it)
        lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp_(min=LEAST_LENGTH)
        units = vectors / lengths
        ctx.save_for_backward(units, lengths)
        return units

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Tensor:  # noqa: ANN401
        """Take away what would change the length: (g - (g·u) u) / length."""
        units, lengths = ctx.saved_tensors
        gradient = gradients[0]
        along = (gradient * units).sum(-1, keepdim=True)
        return torch.addcmul(gradient, along, units, value=-1).div_(lengths)


class _GroupedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, matrices: Tensor, rows: Tensor, transposed: bool) -> Tensor:  # noqa: ANN401
        vectors = vectors.contiguous()
        product = vectors.new_empty(*vectors.shape[:2], matrices.shape[1 if transposed else 2])
        for row, part in _groups(rows):
            matrix = matrices[row].T if transposed else matrices[row]
            torch.mm(vectors[part].flatten(0, 1), matrix, out=product[part].flatten(0, 1))
        ctx.save_for_backward(vectors, matrices, rows)
        ctx.transposed = transposed
        return product

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, None, None]:  # noqa: ANN401
        vectors, matrices, rows = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        of_vectors, of_matrices = torch.empty_like(vectors), torch.zeros_like(matrices)
        for row, part in _groups(rows):
            given, arriving = vectors[part].flatten(0, 1), gradient[part].flatten(0, 1)
            left, right = (arriving, given) if ctx.transposed else (given, arriving)
            matrix = matrices[row] if ctx.transposed else matrices[row].T
            torch.mm(arriving, matrix, out=of_vectors[part].flatten(0, 1))
            torch.mm(left.T, right, out=of_matrices[row])
        return of_vectors, of_matrices, None, None


def _groups(rows: Tensor) -> Iterator[tuple[int, slice]]:
    """Go through the runs of equal numbers."""
    numbers, counts = torch.unique_consecutive(rows, return_counts=True)
    start = 0
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        yield number, slice(start, start + count)
        start += count
