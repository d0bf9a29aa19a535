"""Edges that must not be seen: a training episode about a relation of the graph is asked as if it were not there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import IntArray

NO_RELATION = -1


@dataclass(frozen=True, eq=False)
class HiddenEdges:
    """Edges to hide, in both directions, as if their triples were not in the graph.

    There is one row per entity or pair that is asked about, or a single row for all of them. No row hides nothing.

    Attributes:
        relations: shape (n,), (1,) or (0,), the relation, never an inverse, whose edges are hidden; -1 hides none.
        others: shape (n,), hide only edges that lead to this entity; None hides all edges of the relation.
    """

    relations: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64] | None = None

    @classmethod
    def none(cls) -> "HiddenEdges":
        """Hide nothing."""
        return cls(np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, relation: int | None) -> "HiddenEdges":
        """Hide one relation from all that is asked; None or -1 hides nothing."""
        return cls.none() if relation in (None, NO_RELATION) else cls(np.array([relation], dtype=np.int64))

    @classmethod
    def join(cls, parts: "Sequence[HiddenEdges]", rows: IntArray) -> "HiddenEdges":
        """Hide from each row what one of several parts hides from all; `rows` says which part, shape (n,)."""
        if all(part.is_none for part in parts):
            return cls.none()
        relations = [part.relation for part in parts]
        return cls(np.array([NO_RELATION if one is None else one for one in relations], dtype=np.int64)[rows])

    @property
    def is_none(self) -> bool:
        """Whether there is no row, so that nothing is hidden from anything."""
        return not len(self.relations)

    @property
    def relation(self) -> int | None:
        """The one relation that is hidden from all that is asked; None if nothing is hidden."""
        if len(self.relations) > 1:
            raise ValueError(f"expected one relation that is hidden from all, found {len(self.relations)} rows")
        return None if self.is_none or self.relations[0] == NO_RELATION else int(self.relations[0])

    def take(self, rows: IntArray) -> "HiddenEdges":
        """Return the rows that are asked for, shape (m,); a single row stays the one for all."""
        if len(self.relations) <= 1:
            return self
        return HiddenEdges(self.relations[rows], None if self.others is None else self.others[rows])

    def relations_of(self, rows: IntArray) -> int | npt.NDArray[np.int64]:
        """Return the relation that is hidden from each of these rows, -1 for none: one number if it is the same."""
        if self.others is not None:
            raise ValueError("expected whole relations to hide, found single edges")
        if len(self.relations) <= 1:
            return NO_RELATION if self.is_none else int(self.relations[0])
        return self.relations[rows]

    def hides(self, relations: IntArray, others: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which edges are hidden.

        Args:
            relations: shape (n, k), of k edges per row, without directions (`KnowledgeGraph.base`).
            others: shape (n, k), the entity that each edge leads to.
        """
        if self.is_none:
            return np.zeros(relations.shape, dtype=bool)
        is_same = relations == self.relations[:, None]
        return is_same if self.others is None else is_same & (others == self.others[:, None])
