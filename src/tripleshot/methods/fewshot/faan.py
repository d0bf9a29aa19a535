"""FAAN (Sheng et al., 2020): neighbors and examples count as much as they fit the pair that is asked about.

Neighbors are weighed by the difference of the pair's vectors, a transformer encodes the pair, and each query has a
prototype of its own, made of the examples that are like it.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.caching import SupportCache, score_in_batches
from tripleshot.methods.episode_settings import NeighborSettings, sampler_of
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.pair_transformer import PairTransformer
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

SCORING_BATCH = 512  # candidates


@dataclass(frozen=True)
class FAANSettings(NeighborSettings):
    """Everything that decides what FAAN is and how it learns; the defaults are for two CPU cores.

    Attributes:
        num_layers: L, transformer blocks.
        num_heads: H, attention heads of each block, each of the whole width d.
        faithful: split the states into heads and scale the attention as the public code does, and do not clip.
    """

    num_layers: int = 1
    num_heads: int = 2
    dropout: float = 0.3
    faithful: bool = False


def paper() -> FAANSettings:
    """Return the published settings for NELL-One; they start from TransE, whose vectors stay as they are."""
    return FAANSettings(
        num_layers=3,
        num_heads=4,
        steps=300_000,
        learning_rate=5e-5,
        warmup=10_000,
        validate_every=10_000,
        valid_queries=0,
    )


class AdaptiveNeighborEncoder(nn.Module):
    """An entity by its neighbors, weighed by how their relations fit the pair that the entity stands in.

    With w = t - h for the pair's relation, a neighbor's logit is w B r, c is the weighted sum of the neighbors, and
    e' = LN(relu(Wc c + We e) + e).
    """

    def __init__(self, width: int) -> None:
        """Make it for vectors of this width."""
        super().__init__()
        self.compare = nn.Linear(width, width, bias=False)  # B, transposed
        self.gather = nn.Linear(width, width, bias=False)  # Wc
        self.keep = nn.Linear(width, width, bias=False)  # We
        self.norm = nn.LayerNorm(width)

    def forward(
        self, own: Tensor, pair_relations: Tensor, neighborhoods: Neighborhoods, relations: Tensor, entities: Tensor
    ) -> Tensor:
        """Return what entities are in their pairs.

        Args:
            own: shape (n, d), the entities' vectors.
            pair_relations: shape (n, d), w of the pairs.
            neighborhoods: of the n entities, or of one entity that stands in all n pairs.
            relations: shape (m, d), vectors of the neighbors' relations.
            entities: shape (m, d), vectors of the neighbors.

        Returns:
            shape (n, d).
        """
        asked = self.compare(pair_relations)
        if len(neighborhoods) == 1:
            gathered = (asked @ relations.T).softmax(1) @ entities
        else:
            weights = neighborhoods.softmax((asked[neighborhoods.owners] * relations).sum(1))
            gathered = neighborhoods.sum(weights[:, None] * entities)
        return self.norm(functional.relu(self.gather(gathered) + self.keep(own)) + own)


class FAAN(nn.Module):
    """Pairs with their neighbors to scores."""

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        width: int,
        num_layers: int,
        num_heads: int,
        dropout: float,
        encoder_dropout: float,
        faithful: bool = False,
    ) -> None:
        """Make the network."""
        super().__init__()
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.dropout = nn.Dropout(dropout)
        self.neighbors = AdaptiveNeighborEncoder(width)
        self.pairs = PairTransformer(width, num_layers, num_heads, encoder_dropout, faithful)

    def forward(self, heads: Tensor, tails: Tensor, of_heads: Neighborhoods, of_tails: Neighborhoods) -> Tensor:
        """Encode pairs of entities, shape (n,) each; a single head serves all tails.

        Returns:
            shape (n, H d).
        """
        own_heads, own_tails = self.symbols.entities(heads), self.symbols.entities(tails)
        own_heads = own_heads.expand_as(own_tails)
        pair_relations = own_tails - own_heads
        sides = ((own_heads, of_heads), (own_tails, of_tails))
        return self.pairs(*(self._side(own, pair_relations, neighborhoods) for own, neighborhoods in sides))

    def _side(self, own: Tensor, pair_relations: Tensor, neighborhoods: Neighborhoods) -> Tensor:
        relations = self.dropout(self.symbols.relations(neighborhoods.relations))
        entities = self.dropout(self.symbols.entities(neighborhoods.entities))
        return self.neighbors(own, pair_relations, neighborhoods, relations, entities)

    @staticmethod
    def score(queries: Tensor, support: Tensor) -> Tensor:
        """Compare pairs, shape (n, D), with the examples, shape (K, D), each as much as it is like the pair: (n,)."""
        weights = (queries @ support.T * queries.shape[1] ** -0.5).softmax(1)
        return (weights @ support * queries).sum(1)


class FAANMethod(TrainableMethod[FAANSettings, FAAN]):
    """FAAN on one dataset."""

    Settings = FAANSettings
    presets = {"fast": FAANSettings, "paper": paper}  # noqa: RUF012 (never changed)
    starts_from = "vectors"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        self.dataset, self.shots, self.graph = dataset, shots, dataset.graph
        settings, graph = self.settings, dataset.graph
        torch.manual_seed(settings.seed)
        self.finder = NeighborFinder(graph, settings.max_neighbors, self.device)
        self.module = FAAN(
            graph.num_entities,
            graph.num_relations,
            settings.width,
            settings.num_layers,
            settings.num_heads,
            settings.dropout,
            settings.encoder_dropout,
            settings.faithful,
        ).to(self.device)
        self.module.symbols.requires_grad_(settings.fine_tune)
        self._examples: SupportCache[Tensor] = SupportCache()

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.take(start)

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes."""
        sampler = sampler_of(self.settings, self.dataset, self.shots)
        losses = partial(self._losses, sampler)
        return [self.stage("episodes", losses, bool(self.dataset.valid))]

    @property
    def clip(self) -> float:
        """Largest gradient norm; the public code means to clip and does not."""
        return 0.0 if self.settings.faithful else self.settings.clip

    def clear_cache(self) -> None:
        """Drop the encoded examples."""
        self._examples.clear()

    def _losses(self, sampler: EpisodeSampler, _step: int, rng: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones."""
        episode = sampler.draw(rng)
        repeated = np.repeat(episode.queries[:, 0], episode.negatives.shape[1])
        heads = np.concatenate([episode.support[:, 0], episode.queries[:, 0], repeated])
        tails = np.concatenate([episode.support[:, 1], episode.queries[:, 1], episode.negatives.ravel()])
        encoded = self._encode(heads, tails, rng, episode.hidden)
        support, queries, negatives = encoded.split([len(episode.support), len(episode.queries), len(repeated)])
        positive = self.module.score(queries, support)[:, None]
        negative = self.module.score(negatives, support).view(episode.negatives.shape)
        return {"ranking": ranking_loss(positive, negative, self.settings.margin)}

    def _encode(
        self,
        heads: IntArray,
        tails: IntArray,
        rng: np.random.Generator | None = None,
        hidden: HiddenEdges = HiddenEdges.none(),
    ) -> Tensor:
        """Encode pairs by their neighbors: shape (n, D)."""
        of_heads, of_tails = (self.finder.find(side, rng, hidden) for side in (heads, tails))
        return self.module(self._ids(heads), self._ids(tails), of_heads, of_tails)

    def _ids(self, entities: IntArray) -> Tensor:
        return torch.from_numpy(np.asarray(entities, dtype=np.int64)).to(self.device)

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by how the pairs with them are like the examples, a bounded number at a time."""
        self.module.eval()
        examples = self._examples.get(support, lambda: self._encode(support[:, 0], support[:, 1]))

        def score(some: IntArray) -> Tensor:
            return self.module.score(self._encode(np.array([head]), some), examples)

        return score_in_batches(score, tails, SCORING_BATCH)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; an entity or relation that the run has never seen says nothing."""
        self.prepare(dataset, 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
