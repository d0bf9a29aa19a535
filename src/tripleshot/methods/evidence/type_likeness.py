"""Which types entities have in common: what kind of thing an answer is.

Types say most where the candidates are of many kinds and the answers of one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, sum_rows
from tripleshot.graph.types import EntityTypes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TypeLikeness:
    """Compares the types of entities; one that has none is like no other."""

    types: EntityTypes

    @cached_property
    def type_rarity(self) -> Floats:
        """How rare each type is: the logarithm of how many entities with a type there are for one that has it."""
        num_members = np.bincount(self.types.values, minlength=len(self.types.names))
        num_typed = int(np.count_nonzero(np.diff(self.types.offsets)))
        return np.log(max(num_typed, 1) / np.maximum(num_members, 1))

    def has_any(self, entities: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which entities have a type, shape (n,)."""
        return self.types.offsets[np.asarray(entities) + 1] > self.types.offsets[entities]

    def rarity(self, entities: IntArray) -> Floats:
        """Return the mean rarity of the types of each entity, 0 for one without any: shape (n,)."""
        positions, owners = arrays.expand(self.types.offsets, entities)
        total = np.bincount(owners, self.type_rarity[self.types.values[positions]], minlength=len(entities))
        return total / np.maximum(np.bincount(owners, minlength=len(entities)), 1)

    def compare(self, entities: IntArray, others: IntArray) -> Floats:
        """Return which share of the types of two entities both have, by Jaccard: shape (len(others), n)."""
        positions, owners = arrays.expand(self.types.offsets, entities)
        offsets = np.searchsorted(owners, np.arange(len(entities) + 1))
        found = np.empty((len(others), len(entities)))
        for place, other in enumerate(np.asarray(others).tolist()):
            own = self.types.values[self.types.offsets[other] : self.types.offsets[other + 1]]
            both = sum_rows(np.isin(self.types.values[positions], own)[:, None].astype(np.float64), offsets)[:, 0]
            found[place] = both / np.maximum(np.diff(offsets) + len(own) - both, 1)
        return found
