"""Six classic knowledge graph embeddings: TransE, TransH, TransR, RESCAL, DistMult and ComplEx.

Each is a handful of small functions of vectors. A relation first says how it sees an entity (`place`), then where it
expects the tail of a head, or the head of a tail; the score compares what is expected with what is there. So a relation
is applied once to what is given, however many candidates it is compared with.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LEAST_LENGTH = 1e-12  # a shorter vector is not brought to length one


@dataclass(frozen=True, eq=False)
class Relations:
    """Which relation each row of a batch is about.

    Attributes:
        tables: what the model keeps of all relations, by name: "vectors", "normals", "matrices".
        rows: shape (b,), the relation of each row; sorted, so that a matrix is applied to all its rows at once.
    """

    tables: Mapping[str, Tensor]
    rows: Tensor

    def of(self, name: str) -> Tensor:
        """Return a vector for each row, shape (b, 1, d)."""
        return functional.embedding(self.rows, self.tables[name])[:, None]

    def product(self, vectors: Tensor, transposed: bool = False) -> Tensor:
        """Multiply vectors, shape (b, n, d), by the matrix of their row's relation."""
        return grouped_product(vectors, self.tables["matrices"], self.rows, transposed)


Sees = Callable[[Tensor, Relations], Tensor]


def same(entities: Tensor, relations: Relations) -> Tensor:
    """Return entities as they are: every relation sees them alike."""
    return entities


@dataclass(frozen=True)
class Scoring:
    """How a model scores; entities have shape (b, n, d), scores (b, n).

    Attributes:
        tables: what it keeps of a relation: "vectors", "normals", "matrices".
        place: an entity as the relation sees it.
        tail_of: where the tail of a head is expected, both as the relation sees them.
        head_of: where the head of a tail is expected.
        compare: the score of what is there, given what is expected, shape (b, 1, d), and the norm of distances.
        estimate: the tables' main entry for a relation known by some heads and tails alone, shapes (k, d).
        inverse: vectors with which (t, r, h) scores as (h, r, t) does with those given; None if relations have none.
        is_unit: entities are of length one.
        parts: numbers in each dimension; two make it complex, real parts first.
    """

    tables: tuple[str, ...]
    tail_of: Sees
    head_of: Sees
    compare: Callable[[Tensor, Tensor, int], Tensor]
    estimate: Callable[[Tensor, Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor] | None = None
    place: Sees = same
    is_unit: bool = False
    parts: int = 1


def distance(expected: Tensor, found: Tensor, norm: int) -> Tensor:
    """Return -‖expected - found‖ in the L1 or L2 norm; what has no first dimension is there for all rows."""
    if found.dim() == 2:
        return -torch.cdist(expected.squeeze(1), found, p=norm)
    apart = expected - found
    return -(apart.abs().sum(-1) if norm == 1 else torch.linalg.vector_norm(apart, dim=-1))


def dot(expected: Tensor, found: Tensor, norm: int) -> Tensor:
    """Return the dot product; it has no norm to choose."""
    if found.dim() == 2:
        return expected.squeeze(1) @ found.T
    return torch.bmm(expected, found.transpose(1, 2)).squeeze(1)


def times(left: Tensor, right: Tensor) -> Tensor:
    """Multiply complex numbers, each a half of real parts and a half of imaginary parts."""
    (a, b), (c, d) = left.chunk(2, -1), right.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def conjugate(vectors: Tensor) -> Tensor:
    """Turn the sign of the imaginary parts."""
    real, imaginary = vectors.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)


def on_hyperplane(entities: Tensor, relations: Relations) -> Tensor:
    """Return e - (w·e) w for the relation's unit normal w."""
    normal = functional.normalize(relations.of("normals"), dim=-1)
    return entities - (entities * normal).sum(-1, keepdim=True) * normal


def in_relation_space(entities: Tensor, relations: Relations) -> Tensor:
    """Return e M, shortened to length one where it is longer."""
    placed = relations.product(entities)
    return placed / torch.linalg.vector_norm(placed, dim=-1, keepdim=True).clamp(min=1)


def _translation(tables: tuple[str, ...], place: Sees) -> Scoring:
    """Score -‖h + r - t‖ for entities as the relation sees them."""
    return Scoring(
        tables,
        tail_of=lambda heads, relations: heads + relations.of("vectors"),
        head_of=lambda tails, relations: tails - relations.of("vectors"),
        compare=distance,
        estimate=lambda heads, tails: (tails - heads).mean(0),
        inverse=lambda vectors: -vectors,
        place=place,
        is_unit=True,
    )


TRANSE = _translation(("vectors",), same)
TRANSH = _translation(("vectors", "normals"), on_hyperplane)
TRANSR = _translation(("vectors", "matrices"), in_relation_space)
RESCAL = Scoring(  # h M t
    ("matrices",),
    tail_of=lambda heads, relations: relations.product(heads),
    head_of=lambda tails, relations: relations.product(tails, transposed=True),
    compare=dot,
    estimate=lambda heads, tails: heads.T @ tails,
)
DISTMULT = Scoring(  # sum of h r t
    ("vectors",),
    tail_of=lambda heads, relations: heads * relations.of("vectors"),
    head_of=lambda tails, relations: tails * relations.of("vectors"),
    compare=dot,
    estimate=lambda heads, tails: (heads * tails).sum(0),
    inverse=lambda vectors: vectors,
)
COMPLEX = Scoring(  # real part of the sum of h r conj(t)
    ("vectors",),
    tail_of=lambda heads, relations: times(heads, relations.of("vectors")),
    head_of=lambda tails, relations: times(tails, conjugate(relations.of("vectors"))),
    compare=dot,
    estimate=lambda heads, tails: times(conjugate(heads), tails).sum(0),
    inverse=conjugate,
    parts=2,
)
TRANSLATIONS = {"transe": TRANSE, "transh": TRANSH, "transr": TRANSR}
SCORINGS = {**TRANSLATIONS, "rescal": RESCAL, "distmult": DISTMULT, "complex": COMPLEX}


class EmbeddingModel(nn.Module):
    """The vectors of entities and relations, and how they score."""

    supports: Tensor

    def __init__(
        self, scoring: Scoring, num_entities: int, num_relations: int, width: int, norm: int, supports: Tensor
    ) -> None:
        """Start at random, each vector about one long; a matrix of a translation starts near the identity.

        Args:
            scoring: one of `SCORINGS`.
            num_entities: the table has one row more, zero, for entities that training has not seen.
            num_relations: background relations, then those of the tasks.
            width: d.
            norm: 1 or 2, of distances.
            supports: shape (num_tasks, K, 2), the examples by which the relations of the tasks are found again.
        """
        super().__init__()
        self.scoring, self.norm = scoring, norm
        size = scoring.parts * width
        self.entities = nn.Embedding(num_entities + 1, size, sparse=True)
        nn.init.normal_(self.entities.weight, std=size**-0.5)
        nn.init.zeros_(self.entities.weight[-1])
        shapes = {"vectors": (size,), "normals": (size,), "matrices": (size, size)}
        self.relations = nn.ParameterDict(
            {name: torch.randn(num_relations, *shapes[name]) * size**-0.5 for name in scoring.tables}
        )
        if scoring.is_unit and "matrices" in self.relations:
            self.relations["matrices"].data.mul_(0.1).add_(torch.eye(size))
        self.register_buffer("supports", supports)

    def entity_vectors(self, ids: Tensor) -> Tensor:
        """Return the vectors of entities."""
        vectors = self.entities(ids)
        return unit(vectors) if self.scoring.is_unit else vectors

    def tables(self) -> dict[str, Tensor]:
        """Return what is kept of all relations."""
        return dict(self.relations.items())

    def score(
        self, vectors: Tensor, relations: Relations, backwards: Tensor | None = None, shared: Tensor | None = None
    ) -> Tensor:
        """Score entities as tails of a given head; in rows that go backwards, as heads of a given tail.

        Args:
            vectors: shape (b, 1 + n, d), in each row the given entity, then those that it is compared with.
            relations: of the rows.
            backwards: shape (b,); None goes forwards everywhere.
            shared: shape (m, d), entities that each row is compared with, too.

        Returns:
            shape (b, n), or (b, n + m).
        """
        scoring = self.scoring
        given, others = scoring.place(vectors, relations).split([1, vectors.shape[1] - 1], 1)
        expected = scoring.tail_of(given, relations)
        if backwards is not None:
            expected = torch.where(backwards[:, None, None], scoring.head_of(given, relations), expected)
        scores = scoring.compare(expected, others, self.norm)
        if shared is None:
            return scores
        if scoring.place is not same:
            shared = scoring.place(shared.expand(len(vectors), -1, -1), relations)
        return torch.cat([scores, scoring.compare(expected, shared, self.norm)], 1)


def unit(vectors: Tensor) -> Tensor:
    """Bring vectors, shape (..., d), to length one; a zero vector stays.

    It has a backward pass of its own, as `grouped_product` has: each goes over the vectors as seldom as possible.
    """
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
