"""FSRL (Zhang et al., 2020): neighbors weighed by attention, examples by a recurrent auto-encoder and attention.

Pairs are encoded and matched with the prototype as in GMatching.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.fewshot.matching import Matcher, MatchingMethod, encode_episode
from tripleshot.methods.fewshot.neighborhoods import Neighborhoods
from tripleshot.methods.fewshot.settings import NeighborSettings
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.settings import setting
from tripleshot.methods.trainable import Losses


@dataclass(frozen=True)
class FSRLSettings(NeighborSettings):
    """What FSRL is and how it learns; the defaults are for two CPU cores.

    In the released code padded places take part in the attention to neighbors, and the auto-encoder's loss trains the
    examples but not the decoder.
    """

    encoder_dropout: float = 0.5
    max_neighbors: int = 30
    matching_steps: int = setting(2, "steps of the LSTM that matches a query with the prototype")
    reconstruction_weight: float = setting(
        1e-5, "weight of the auto-encoder's loss beside the ranking loss; 0 leaves its decoder out"
    )


def paper() -> FSRLSettings:
    """Return the published settings for NELL-One; they start from ComplEx, whose vectors stay as they are."""
    return FSRLSettings(
        steps=200_000, learning_rate=1e-4, schedule="once", warmup=0, validate_every=10_000, valid_queries=0
    )


def tiny() -> FSRLSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return FSRLSettings(width=16, max_neighbors=4, batch_size=16, steps=20, validate_every=10)


class RecurrentAggregator(nn.Module):
    """The prototype of K examples: an LSTM reads them, attention weighs what it makes of each.

    With m_k the LSTM's state after example g_k, v_k = g_k + m_k, the prototype is the sum of beta_k v_k, where beta is
    the softmax of u tanh(W v_k). A second LSTM decodes the examples from the last state.
    """

    def __init__(self, width: int) -> None:
        """Make it for pairs of codes of this width."""
        super().__init__()
        self.encoder = nn.LSTM(2 * width, 2 * width)
        self.decoder = nn.LSTMCell(2 * width, 2 * width)
        self.compare = nn.Linear(2 * width, width)
        self.weigh = nn.Linear(width, 1, bias=False)  # a bias would move all logits alike
        for layer in (self.compare, self.weigh):
            nn.init.xavier_normal_(layer.weight)

    def forward(self, examples: Tensor) -> Tensor:
        """Return the prototype, shape (2d,), of encoded examples, shape (K, 2d)."""
        values = examples + self.encoder(examples)[0]
        weights = self.weigh(torch.tanh(self.compare(values))).softmax(0)  # (K, 1)
        return (weights * values).sum(0)

    def decode(self, examples: Tensor) -> Tensor:
        """Return the examples, shape (K, 2d), as the second LSTM decodes them, beginning with the first."""
        states, (_, cell) = self.encoder(examples)
        state, cell = states[-1:], cell.view(1, -1)
        decoded = []
        for _ in range(len(examples)):
            state, cell = self.decoder(state, (state, cell))  # what was decoded is the next input, too
            decoded.append(state)
        return torch.cat(decoded)


class FSRL(Matcher):
    """Neighbors to codes, pairs of codes to scores."""

    def add_layers(self, width: int) -> None:
        """Make the attention to neighbors, in which padded places take part if they count, and that to examples."""
        self.compare = nn.Linear(2 * width, width)
        self.weigh = nn.Linear(width, 1, bias=False)
        for layer in (self.compare, self.weigh):
            nn.init.xavier_normal_(layer.weight)
        self.aggregator = RecurrentAggregator(width)

    def encode(self, neighborhoods: Neighborhoods) -> Tensor:
        """Return f(e) = tanh(sum of alpha e'), alpha the softmax of u tanh(W [r; e']), of n entities: shape (n, d)."""
        relations = self.dropout(self.symbols.relations(neighborhoods.relations))
        entities = self.dropout(self.symbols.entities(neighborhoods.entities))
        logits = self.weigh(torch.tanh(self.compare(torch.cat([relations, entities], dim=1)))).squeeze(1)
        padding = self.weigh(torch.tanh(self.compare.bias)).squeeze() if self.padded_to else None
        weights = neighborhoods.softmax(logits, padding, self.padded_to)
        return torch.tanh(neighborhoods.sum(weights[:, None] * entities))

    def prototype(self, support: Tensor) -> Tensor:
        """Aggregate the encoded examples: (K, 2d) to (2d,)."""
        return self.aggregator(self.encode_pair(support))


class FSRLMethod(MatchingMethod[FSRLSettings, FSRL]):
    """FSRL on one dataset."""

    Settings = FSRLSettings
    presets = {"fast": FSRLSettings, "paper": paper, "tiny": tiny}  # noqa: RUF012 (never changed)

    def make_network(self, graph: KnowledgeGraph, padded_to: int) -> FSRL:
        """Make an untrained network for the names of a graph."""
        settings = self.settings
        sizes = (settings.width, settings.dropout, settings.encoder_dropout, settings.matching_steps)
        return FSRL(graph.num_entities, graph.num_relations, *sizes, padded_to)

    def _losses(self, sampler: EpisodeSampler, _step: int, rng: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones, and reconstruct the examples."""
        settings = self.settings
        pairs = encode_episode(self.module, self.finder, sampler.draw(rng), rng)
        examples = self.module.encode_pair(pairs.support)
        positive, negative = pairs.scores(self.module, self.module.aggregator(examples))
        losses = {"ranking": ranking_loss(positive, negative, settings.margin)}
        if settings.reconstruction_weight:
            decoded = self.module.aggregator.decode(examples)
            decoded = decoded.detach() if settings.match_released_code else decoded
            losses["reconstruction"] = settings.reconstruction_weight * functional.mse_loss(decoded, examples)
        return losses
