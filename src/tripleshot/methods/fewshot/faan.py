"""FAAN (Sheng et al., 2020): neighbors and examples count as much as they fit the pair that is asked about.

Neighbors are weighed by the difference of the pair's vectors, a transformer encodes the pair, and each query has a
prototype of its own, made of the examples that are like it.
"""

from dataclasses import dataclass, replace
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
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods
from tripleshot.methods.fewshot.settings import NeighborSettings, make_episode_sampler
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.settings import count
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

SCORING_BATCH = 512  # candidates


@dataclass(frozen=True)
class FAANSettings(NeighborSettings):
    """What FAAN is and how it learns; the defaults are for two CPU cores.

    The released code splits the states into heads and scales the attention in its own way, and does not clip.
    """

    num_layers: int = count(1, "L, transformer blocks")
    num_heads: int = count(2, "H, attention heads of each block, each of the whole width d")
    dropout: float = 0.3


def paper() -> FAANSettings:
    """Return the published settings for NELL-One; they start from TransE, whose vectors stay as they are."""
    published = FAANSettings(num_layers=3, num_heads=4, validate_every=10_000, valid_queries=0)
    return replace(published, steps=300_000, learning_rate=5e-5, warmup=10_000)


def tiny() -> FAANSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return FAANSettings(width=16, max_neighbors=4, batch_size=16, steps=20, validate_every=10)


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
        projected = self.compare(pair_relations)
        if len(neighborhoods) == 1:
            gathered = (projected @ relations.T).softmax(1) @ entities
        else:
            weights = neighborhoods.softmax((projected[neighborhoods.owners] * relations).sum(1))
            gathered = neighborhoods.sum(weights[:, None] * entities)
        return self.norm(functional.relu(self.gather(gathered) + self.keep(own)) + own)


class PairBlock(nn.Module):
    """A transformer block with its norms after the residual connections and a feed-forward layer twice as wide."""

    def __init__(self, width: int, num_heads: int, dropout: float, match_released_code: bool) -> None:
        """Make a block of some width; `match_released_code` splits it into heads as the released code does."""
        super().__init__()
        self.num_heads, self.match_released_code = num_heads, match_released_code
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.output_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, read: slice = slice(None)) -> Tensor:
        """Return new states, of the tokens at `read` alone: (n, 3, width) to (n, tokens, width)."""
        own = states[:, read]
        keys, values = self.key_value(states).chunk(2, dim=-1)
        if self.match_released_code:
            mixed = self.attend(self.query(states), keys, values)[:, read]
        else:
            mixed = self.attend(self.query(own), keys, values)
        states = self.attention_norm(own + self.dropout(self.attention_output(mixed)))
        forwarded = self.narrow(functional.gelu(self.widen(states), approximate="tanh"))
        return self.output_norm(states + self.dropout(forwarded))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attend in each head: three of shape (n, tokens, width) to the shape of the queries.

        The released code cuts (n, 3, H d) into (n, H, 3, d) without moving the heads before the tokens: a head then
        attends over three neighboring pieces of whatever token and head. Its scale is (d // H) ** -0.5.
        """
        head_width = values.shape[-1] // self.num_heads
        if self.match_released_code:
            heads = (part.reshape(len(part), self.num_heads, -1, head_width) for part in (queries, keys, values))
            scale = max(head_width // self.num_heads, 1) ** -0.5
        else:
            heads = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in (queries, keys, values))
            scale = head_width**-0.5
        rate = self.dropout.p if self.training else 0.0
        attended = functional.scaled_dot_product_attention(*heads, dropout_p=rate, scale=scale)
        return attended.reshape(queries.shape) if self.match_released_code else attended.transpose(1, 2).flatten(2)


class PairTransformer(nn.Module):
    """(h', R, t') through transformer blocks; the pair is what becomes of R, one learned vector for every relation."""

    def __init__(
        self, width: int, num_layers: int, num_heads: int, dropout: float, match_released_code: bool = False
    ) -> None:
        """Make it; each head sees the whole vectors: they are repeated for each."""
        super().__init__()
        self.num_heads = num_heads
        self.relation = nn.Parameter(torch.rand(width))
        self.register_buffer("positions", sinusoids(3, width), persistent=False)
        sizes = (width * num_heads, num_heads, dropout)
        self.blocks = nn.ModuleList(PairBlock(*sizes, match_released_code) for _ in range(num_layers))

    def forward(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Encode pairs: two of (n, d) to (n, H d)."""
        tokens = torch.stack([heads, self.relation.expand_as(heads), tails], dim=1) + self.get_buffer("positions")
        states = tokens.repeat(1, 1, self.num_heads)
        *first, last = self.blocks
        for block in first:
            states = block(states)
        return last(states, slice(1, 2)).squeeze(1)


def sinusoids(length: int, width: int) -> Tensor:
    """Return fixed positions, shape (length, width): sines of falling frequencies and, between them, cosines."""
    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(width) // 2 * 2 / width)
    return torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())


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
        match_released_code: bool = False,
    ) -> None:
        """Make the network."""
        super().__init__()
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.dropout = nn.Dropout(dropout)
        self.neighbors = AdaptiveNeighborEncoder(width)
        self.pairs = PairTransformer(width, num_layers, num_heads, encoder_dropout, match_released_code)

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
    presets = {"fast": FAANSettings, "paper": paper, "tiny": tiny}  # noqa: RUF012 (never changed)
    starts_from = "vectors"

    @classmethod
    def paper_init(cls, settings: FAANSettings) -> str:
        """The paper starts from TransE."""
        return "transe"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the names of a dataset."""
        self.dataset, self.shots, self.graph = dataset, shots, dataset.graph
        settings, graph = self.settings, dataset.graph
        torch.manual_seed(settings.seed)
        self.finder = NeighborFinder(graph, settings.max_neighbors, self.device)
        sizes = (settings.width, settings.num_layers, settings.num_heads, settings.dropout, settings.encoder_dropout)
        self.module = FAAN(graph.num_entities, graph.num_relations, *sizes, settings.match_released_code)
        self.module.to(self.device)
        self.module.symbols.requires_grad_(settings.fine_tune)
        self._examples: SupportCache[Tensor] = SupportCache()

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.copy_from(start)

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes."""
        sampler = make_episode_sampler(self.settings, self.dataset, self.shots)
        return [self.stage("episodes", partial(self._losses, sampler), bool(self.dataset.valid))]

    @property
    def clip(self) -> float:
        """Largest gradient norm; the released code means to clip and does not."""
        return 0.0 if self.settings.match_released_code else self.settings.clip

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
        ids = (torch.from_numpy(np.asarray(side, dtype=np.int64)).to(self.device) for side in (heads, tails))
        return self.module(*ids, of_heads, of_tails)

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by how the pairs with them are like the examples, a bounded number at a time."""
        self.module.eval()
        examples = self._examples.get(support, lambda: self._encode(support[:, 0], support[:, 1]))

        def score(some: IntArray) -> Tensor:
            return self.module.score(self._encode(np.array([head]), some), examples)

        return score_in_batches(score, tails, SCORING_BATCH)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; an entity or relation that the run has never seen has a zero vector."""
        self.prepare(dataset, 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
