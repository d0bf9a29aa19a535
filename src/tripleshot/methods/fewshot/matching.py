"""What GMatching and FSRL share: a code per entity from its neighbors, pairs of codes, and the LSTM that matches them.

An entity's code does not depend on the pair it stands in. In training it is computed once for each distinct entity of
an episode; in scoring it is kept between questions, for as long as the weights stay the same.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import Episode, EpisodeSampler
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.caching import EntityCache, score_in_batches
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.settings import NeighborSettings, make_episode_sampler
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

SCORING_BATCH = 1024  # candidates


class PairEncoder(nn.Module):
    """g(x) = LN(x + dropout(W2 relu(W1 x))), with (x - mean) / (deviation + 0.001) for a norm."""

    def __init__(self, width: int, dropout: float) -> None:
        """Make the encoder of pairs of codes of this width."""
        super().__init__()
        self.widen = nn.Linear(2 * width, 4 * width)
        self.narrow = nn.Linear(4 * width, 2 * width)
        self.dropout = nn.Dropout(dropout)
        self.gain = nn.Parameter(torch.ones(2 * width))
        self.bias = nn.Parameter(torch.zeros(2 * width))
        for layer in (self.widen, self.narrow):
            nn.init.xavier_normal_(layer.weight)

    def forward(self, pairs: Tensor) -> Tensor:
        """Encode pairs: (n, 2d) to (n, 2d)."""
        mixed = pairs + self.dropout(self.narrow(functional.relu(self.widen(pairs))))
        deviation, mean = torch.std_mean(mixed, dim=-1, keepdim=True)
        return (mixed - mean) / (deviation + 1e-3) * self.gain + self.bias


class MatchingProcessor(nn.Module):
    """A few steps of an LSTM cell that compares a query with the prototype S.

    With the cell's state twice as wide as the query q, a step is (h~, c) = LSTM(q, ([h; S], c)), h = q + h~[:2d]; the
    attention over prototypes is 1, as there is one. The second halves of h~ and c are never read by anything but the
    second half of c, so they are left out here: the scores are the same.
    """

    def __init__(self, width: int, num_steps: int) -> None:
        """Make a cell for pairs of codes of this width."""
        super().__init__()
        self.num_steps = num_steps
        self.of_query = nn.Linear(2 * width, 8 * width)  # gates: input, forget, cell, output
        self.of_hidden = nn.Linear(2 * width, 8 * width, bias=False)
        self.of_prototype = nn.Linear(2 * width, 8 * width, bias=False)
        bound = (4 * width) ** -0.5  # as for the whole state
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, queries: Tensor, prototype: Tensor) -> Tensor:
        """Score queries, shape (n, 2d), against a prototype, shape (2d,): shape (n,)."""
        from_query = self.of_query(queries)
        gates, cell, hidden = from_query, torch.zeros_like(queries), queries
        for step in range(self.num_steps):
            if step:
                gates = from_query + self.of_hidden(hidden) + self.of_prototype(prototype)
            taken, kept, new, shown = gates.chunk(4, dim=-1)
            cell = kept.sigmoid() * cell + taken.sigmoid() * new.tanh()
            hidden = queries + shown.sigmoid() * cell.tanh()
        return hidden @ prototype


class Matcher(nn.Module, ABC):
    """A network that codes entities by their neighbors and compares pairs with a prototype of the support."""

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        width: int,
        dropout: float,
        encoder_dropout: float,
        matching_steps: int,
        padded_to: int = 0,
    ) -> None:
        """Make the network; `padded_to` places of a neighborhood count as in the released code, 0 masks padding."""
        super().__init__()
        self.padded_to = padded_to
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.dropout = nn.Dropout(dropout)
        self.encode_pair = PairEncoder(width, encoder_dropout)
        self.processor = MatchingProcessor(width, matching_steps)
        self.add_layers(width)

    @abstractmethod
    def add_layers(self, width: int) -> None:
        """Make what reads neighbors and examples."""

    @abstractmethod
    def encode(self, neighborhoods: Neighborhoods) -> Tensor:
        """Return the codes of n entities: shape (n, d)."""

    @abstractmethod
    def prototype(self, support: Tensor) -> Tensor:
        """Make one vector, shape (2d,), of the examples' pairs, shape (K, 2d)."""

    def match(self, pairs: Tensor, prototype: Tensor) -> Tensor:
        """Score pairs, shape (n, 2d), against a prototype: shape (n,)."""
        return self.processor(self.encode_pair(pairs), prototype)


@dataclass(frozen=True, eq=False)
class EpisodePairs:
    """An episode in pairs of codes.

    Attributes:
        support: shape (K, 2d).
        queries: shape (B, 2d), true pairs.
        negatives: shape (B * n, 2d), the wrong pairs of each query one after the other.
    """

    support: Tensor
    queries: Tensor
    negatives: Tensor

    def scores(self, matcher: Matcher, prototype: Tensor) -> tuple[Tensor, Tensor]:
        """Score the true pairs, shape (B, 1), and the wrong ones, shape (B, n)."""
        scores = matcher.match(torch.cat([self.queries, self.negatives]), prototype)
        positive, negative = scores.split([len(self.queries), len(self.negatives)])
        return positive[:, None], negative.view(len(self.queries), -1)


def encode_episode(
    matcher: Matcher, finder: NeighborFinder, episode: Episode, rng: np.random.Generator
) -> EpisodePairs:
    """Encode the distinct entities of an episode once and put their codes into pairs."""
    repeated = np.repeat(episode.queries[:, 0], episode.negatives.shape[1])
    negatives = np.stack([repeated, episode.negatives.ravel()], axis=1)
    pairs = np.concatenate([episode.support, episode.queries, negatives])
    entities, places = np.unique(pairs, return_inverse=True)
    codes = matcher.encode(finder.find(entities, rng, episode.hidden))
    coded = codes[torch.from_numpy(places.reshape(pairs.shape)).to(codes.device)].flatten(1)
    return EpisodePairs(*coded.split([len(episode.support), len(episode.queries), len(negatives)]))


SettingsType = TypeVar("SettingsType", bound=NeighborSettings)
MatcherType = TypeVar("MatcherType", bound=Matcher)


class MatchingMethod(TrainableMethod[SettingsType, MatcherType]):
    """A matcher on one dataset; GMatching and FSRL differ in their networks and in what they minimise."""

    starts_from = "vectors"

    @abstractmethod
    def make_network(self, graph: KnowledgeGraph, padded_to: int) -> MatcherType:
        """Make an untrained network for the names of a graph; `padded_to` as the network takes it."""

    @classmethod
    def paper_init(cls, settings: SettingsType) -> str:
        """Both papers start from ComplEx."""
        return "complex"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the names of a dataset."""
        self.dataset, self.shots, self.graph = dataset, shots, dataset.graph
        settings, graph = self.settings, dataset.graph
        torch.manual_seed(settings.seed)
        self.finder = NeighborFinder(graph, settings.max_neighbors, self.device)
        self.module = self.make_network(graph, settings.max_neighbors if settings.match_released_code else 0)
        self.module.to(self.device).symbols.requires_grad_(settings.fine_tune)
        self.codes = EntityCache(graph.num_entities, lambda entities: self.module.encode(self.finder.find(entities)))

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.copy_from(start)

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes."""
        sampler = make_episode_sampler(self.settings, self.dataset, self.shots)
        return [self.stage("episodes", partial(self._losses, sampler), bool(self.dataset.valid))]

    def _losses(self, sampler: EpisodeSampler, _step: int, rng: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones."""
        pairs = encode_episode(self.module, self.finder, sampler.draw(rng), rng)
        positive, negative = pairs.scores(self.module, self.module.prototype(pairs.support))
        return {"ranking": ranking_loss(positive, negative, self.settings.margin)}

    def clear_cache(self) -> None:
        """Drop the entities' codes."""
        self.codes.clear()

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by their neighbors; an entity's neighbors are encoded once for all questions."""
        self.module.eval()
        prototype = self.module.prototype(self.codes.get(support.reshape(-1)).view(len(support), -1))
        of_head = self.codes.get(np.array([head]))

        def score(some: IntArray) -> Tensor:
            of_tails = self.codes.get(some)
            return self.module.match(torch.cat([of_head.expand(len(of_tails), -1), of_tails], dim=1), prototype)

        return score_in_batches(score, tails, SCORING_BATCH)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; a neighbor or relation that the run has never seen has a zero vector."""
        self.prepare(dataset, 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
