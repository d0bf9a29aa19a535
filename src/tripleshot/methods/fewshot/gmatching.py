"""GMatching (Xiong et al., 2018): pairs are encoded by the neighbors of both ends and matched with the examples.

Neighbors are averaged and transformed, the examples' pairs are averaged into a prototype, and a few steps of an LSTM
compare a query's pair with it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.fewshot.matching import Matcher, MatchingMethod
from tripleshot.methods.fewshot.neighborhoods import Neighborhoods
from tripleshot.methods.fewshot.settings import NeighborSettings
from tripleshot.methods.settings import setting


@dataclass(frozen=True)
class GMatchingSettings(NeighborSettings):
    """What GMatching is and how it learns; the defaults are for two CPU cores.

    The released code adds the bias of the neighbors' layer once for each padded place, too.
    """

    matching_steps: int = setting(2, "steps of the LSTM that matches a query with the prototype")


def paper() -> GMatchingSettings:
    """Return the published settings for NELL-One; they start from ComplEx, and the rate is halved after 200,000."""
    return GMatchingSettings(steps=1_000_000, schedule="constant", warmup=0, validate_every=10_000, valid_queries=0)


def tiny() -> GMatchingSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return GMatchingSettings(width=16, max_neighbors=4, batch_size=16, steps=20, validate_every=10)


class GMatching(Matcher):
    """Neighbors to codes, pairs of codes to scores."""

    def add_layers(self, width: int) -> None:
        """Make the layer that transforms neighbors; each padded place adds its bias once more, if padding counts."""
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
    presets = {"fast": GMatchingSettings, "paper": paper, "tiny": tiny}  # noqa: RUF012 (never changed)

    def make_network(self, graph: KnowledgeGraph, padded_to: int) -> GMatching:
        """Make an untrained network for the names of a graph."""
        settings = self.settings
        sizes = (settings.width, settings.dropout, settings.encoder_dropout, settings.matching_steps)
        return GMatching(graph.num_entities, graph.num_relations, *sizes, padded_to)
