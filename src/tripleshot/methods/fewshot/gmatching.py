"""GMatching (Xiong et al., 2018): a pair is what its head's and its tail's neighbors are, matched with the examples.

Neighbors are averaged and transformed, the examples' pairs are averaged into a prototype, and a few steps of an LSTM
compare a query's pair with it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.methods.fewshot.matching import Matcher
from tripleshot.methods.fewshot.matching_method import MatchingMethod, MatchingSettings
from tripleshot.methods.fewshot.neighborhoods import Neighborhoods


@dataclass(frozen=True)
class GMatchingSettings(MatchingSettings):
    """Everything that decides what GMatching is and how it learns; the defaults are for two CPU cores.

    Attributes:
        faithful: add the bias of the neighbors' layer once for each padded place, too, as the public code does.
    """


def paper() -> GMatchingSettings:
    """Return the published settings for NELL-One; they start from ComplEx, and the rate is halved after 200,000."""
    return GMatchingSettings(steps=1_000_000, schedule="constant", warmup=0, validate_every=10_000, valid_queries=0)


class GMatching(Matcher):
    """Neighbors to codes, pairs of codes to scores."""

    def add_layers(self, width: int) -> None:
        """Make the layer of neighbors; padded places count its bias once more each, if they count."""
        self.combine = nn.Linear(2 * width, width)
        nn.init.xavier_normal_(self.combine.weight)

    def encode(self, neighborhoods: Neighborhoods) -> Tensor:
        """Return f(e) = tanh(mean of W [r; e'] + b over the neighbors) of n entities: shape (n, d)."""
        relations = self.dropout(self.symbols.relations(neighborhoods.relations))
        entities = self.dropout(self.symbols.entities(neighborhoods.entities))
        # W is linear: once for the mean instead of once for each neighbor.
        mean = neighborhoods.mean(torch.cat([relations, entities], dim=1))
        bias = self.combine.bias
        if self.padded_to:
            bias = bias * (self.padded_to / neighborhoods.counts.clamp(min=1))[:, None]
        return torch.tanh(functional.linear(mean, self.combine.weight) + bias)

    def prototype(self, support: Tensor) -> Tensor:
        """Average the encoded examples: (K, 2d) to (2d,)."""
        return self.encode_pair(support).mean(0)


class GMatchingMethod(MatchingMethod[GMatchingSettings, GMatching]):
    """GMatching on one dataset."""

    Settings = GMatchingSettings
    Network = GMatching
    presets = {"fast": GMatchingSettings, "paper": paper}  # noqa: RUF012 (never changed)
