"""Contexts as tensors: what the network reads."""

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from tripleshot.methods.rscl.contexts import ContextExtractor, Contexts


class Sequences(Protocol):
    """What the encoder reads, as `Batch` has it."""

    @property
    def tokens(self) -> Tensor:
        """[PAD] where there is nothing."""
        ...

    @property
    def positions(self) -> Tensor:
        """Of each token."""
        ...

    @property
    def relation(self) -> Tensor | None:
        """What stands for the few-shot relation instead of its token's embedding, if anything."""
        ...

    @property
    def roles(self) -> Tensor | None:
        """What neighbors are to the opposite entity, where contexts know it."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Contexts as tensors.

    Attributes:
        tokens: shape (n, 4p + 3), [PAD] where there is nothing.
        positions: shape (n, 4p + 3).
        direct_heads: shape (n,), number of direct pairs of the head; `direct_tails` of the tail.
        max_neighbors: p.
        relation: shape (n, d), what stands for the few-shot relation instead of its token's embedding, if anything.
        roles: shape (n, 4p + 3), what neighbors are to the opposite entity; None where contexts know no roles.
    """

    tokens: Tensor
    positions: Tensor
    direct_heads: Tensor
    direct_tails: Tensor
    max_neighbors: int
    relation: Tensor | None = None
    roles: Tensor | None = None

    def rows(self, last: int) -> "Batch":
        """Return the first contexts only."""
        return replace(
            self,
            tokens=self.tokens[:last],
            positions=self.positions[:last],
            direct_heads=self.direct_heads[:last],
            direct_tails=self.direct_tails[:last],
            relation=None if self.relation is None else self.relation[:last],
            roles=None if self.roles is None else self.roles[:last],
        )

    @classmethod
    def of(cls, contexts: Contexts, extractor: ContextExtractor, device: torch.device | str = "cpu") -> "Batch":
        """Move contexts to a device."""
        arrays = (contexts.tokens, extractor.positions(contexts), contexts.direct_heads, contexts.direct_tails)
        tokens, positions, heads, tails = (torch.tensor(array, device=device) for array in arrays)
        roles = None if contexts.roles is None else torch.tensor(contexts.roles, device=device)
        return cls(tokens, positions, heads, tails, extractor.max_neighbors, roles=roles)

    def relation_tokens(self) -> Tensor:
        """Return what stands between head and tail: shape (n,)."""
        return self.tokens[:, 2 * self.max_neighbors + 1]

    def near(self) -> Tensor:
        """Tell which slots hold the triple itself or a direct neighbor: shape (n, 4p + 3)."""
        slots = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        center = 2 * self.max_neighbors
        first = center - 2 * self.direct_heads
        last = center + 3 + 2 * self.direct_tails
        return (slots >= first[:, None]) & (slots < last[:, None])

    def center(self) -> Tensor:
        """Tell which slots hold the triple itself: shape (n, 4p + 3)."""
        slots = torch.arange(self.tokens.shape[1], device=self.tokens.device) - 2 * self.max_neighbors
        return ((slots >= 0) & (slots < 3)).expand(self.tokens.shape)
