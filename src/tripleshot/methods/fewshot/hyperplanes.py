"""MTransH, GANA's geometry: head and tail are projected onto the relation's hyperplane before they are compared."""

from dataclasses import dataclass

from torch import Tensor

from tripleshot.methods.fewshot.gradient_step import pull


@dataclass(frozen=True, eq=False)
class Relations:
    """T relations: their vectors R and the normals p of their hyperplanes, shape (T, d) each."""

    vectors: Tensor
    normals: Tensor

    def residuals(self, differences: Tensor) -> Tensor:
        """Return head + relation - tail on the hyperplanes, shape (T, n, d), from head - tail."""
        return project(differences, self.normals[:, None]) + self.vectors[:, None]


def project(vectors: Tensor, normals: Tensor) -> Tensor:
    """Project vectors onto hyperplanes: v - (v.p)p."""
    return vectors - (vectors * normals).sum(-1, keepdim=True) * normals


def gradients(relations: Relations, near: Tensor, far: Tensor, margin: float) -> Relations:
    """Return the gradient of the examples' mean loss in the vectors and in the normals of their relations.

    A residual's length has the gradient u in the vector and -((u.p)x + (x.p)u) in the normal, where u is the residual's
    direction and x is head - tail.

    Args:
        relations: T of them.
        near: shape (T, K, d), head - tail of the examples.
        far: shape (T, K, d), the same with a wrong tail.
        margin: by which the wrong tail should be farther away.
    """
    toward, away = pull(relations.residuals(near), relations.residuals(far), margin)
    normals = relations.normals[:, None]

    def turn(differences: Tensor, directions: Tensor) -> Tensor:
        along, across = ((part * normals).sum(-1, keepdim=True) for part in (directions, differences))
        return along * differences + across * directions

    return Relations((toward - away).mean(1), (turn(far, away) - turn(near, toward)).mean(1))
