"""Direct neighbors of a batch of entities, packed, and attention over them: the ground of the neighbor encoders.

Most entities have few neighbors, a few have thousands. Packed one after the other there is no padding to compute or
to mask, and an entity without neighbors is a sum over nothing: zero.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import IntArray
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.neighbors import NeighborSampler


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The direct neighbors of n entities, m in all, as edges that leave them.

    Attributes:
        relations: shape (m,), relation ids, inverses past `num_relations`.
        entities: shape (m,), the entity at the other end.
        owners: shape (m,), sorted, which of the n entities the edge leaves.
        counts: shape (n,), how many edges each entity has here.
    """

    relations: Tensor
    entities: Tensor
    owners: Tensor
    counts: Tensor

    def __len__(self) -> int:
        return len(self.counts)

    def sum(self, values: Tensor) -> Tensor:
        """Add up the values, shape (m, ...), of each entity's edges: shape (n, ...), zero where there are none."""
        return values.new_zeros(len(self), *values.shape[1:]).index_add(0, self.owners, values)

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean over each entity's edges: shape (n, d), zero where there are none."""
        return self.sum(values) / self.counts.clamp(min=1)[:, None]

    def softmax(self, logits: Tensor, padding: Tensor | None = None, padded_to: int = 0) -> Tensor:
        """Return weights, shape (m,), that sum to 1 over the edges of each entity.

        Args:
            logits: shape (m,).
            padding: shape (), logit of a padded place, for a softmax that does not mask padding; None masks it.
            padded_to: how many places each entity has then.
        """
        highest = logits.new_full((len(self),), -torch.inf)
        highest = highest.scatter_reduce(0, self.owners, logits.detach(), "amax")
        highest = highest if padding is None else highest.maximum(padding.detach())
        raised = (logits - highest[self.owners]).exp()
        totals = self.sum(raised)
        if padding is not None:
            totals = totals + (padded_to - self.counts) * (padding - highest).exp()
        return raised / totals[self.owners]


class NeighborFinder:
    """Finds the direct neighbors of entities in a background graph, in both directions."""

    def __init__(self, graph: KnowledgeGraph, max_neighbors: int, device: torch.device | str = "cpu") -> None:
        """Choose how many neighbors of an entity are taken at most."""
        self._sampler = NeighborSampler(graph)
        self._max_neighbors, self._device = max_neighbors, device

    def find(
        self,
        entities: IntArray,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> Neighborhoods:
        """Return the neighbors of entities.

        Args:
            entities: shape (n,).
            rng: chooses among too many, as in training; None takes the first in file order.
            hidden: edges that must not be seen.
        """
        found = self._sampler.sample(entities, self._max_neighbors, rng, hidden)
        owners, places = np.nonzero(found.relations >= 0)
        arrays = (found.relations[owners, places], found.entities[owners, places], owners, found.counts)
        return Neighborhoods(*(torch.from_numpy(array).to(self._device) for array in arrays))
