"""MetaR (Chen et al., 2019): a relation's vector is made from its examples and moved by the gradient of their loss.

Each example's head and tail go through a small network, the mean over the examples is R; a tail is scored by how near
it lies to head + R', where R' = R - beta G and G is the gradient of the examples' own loss in R.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import TaskBatchSampler
from tripleshot.methods.caching import SupportCache, score_in_batches
from tripleshot.methods.fewshot.gradient_step import (
    SCORING_BATCH,
    distance_loss,
    draw_wrong_tails,
    embed,
    relation_gradient,
)
from tripleshot.methods.fewshot.settings import MetaSettings, make_task_sampler
from tripleshot.methods.fewshot.vectors import make_entity_vectors, require_vectors, restore_weights
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors


@dataclass(frozen=True)
class MetaRSettings(MetaSettings):
    """What MetaR is and how it learns.

    The released code minimises the examples' loss, too, divides their gradient by the number of relations in a step,
    and from the first validation on has no dropout and a fixed batch norm.
    """

    patience: int = 30


def paper() -> MetaRSettings:
    """Return the published settings for NELL-One."""
    return MetaRSettings()


def fast() -> MetaRSettings:
    """Return settings for two CPU cores: fewer relations per step, but more queries of each."""
    return MetaRSettings(batch_size=8192, relations_per_step=256, steps=20_000)


def tiny() -> MetaRSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return MetaRSettings(width=8, batch_size=64, relations_per_step=16, steps=20, validate_every=10)


class ExampleLayer(nn.Module):
    """A linear layer and a batch norm with a channel for each example, as published."""

    def __init__(self, width: int, new_width: int, shots: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, new_width)
        self.norm = nn.BatchNorm1d(shots)
        nn.init.xavier_normal_(self.linear.weight)

    def forward(self, states: Tensor) -> Tensor:
        """Map shape (T, K, width) to (T, K, new_width); more examples take the channels in turns."""
        states, norm = self.linear(states), self.norm
        if states.shape[1] == norm.num_features:
            return norm(states)
        turns = torch.arange(states.shape[1], device=states.device) % norm.num_features
        trained = (norm.get_buffer("running_mean"), norm.get_buffer("running_var"), norm.weight, norm.bias)
        mean, variance, weight, bias = (channels[turns] for channels in trained)
        return functional.batch_norm(states, mean, variance, weight, bias, training=False, eps=norm.eps)


class MetaR(nn.Module):
    """Entity vectors, and the network that makes a relation's vector from examples."""

    def __init__(self, num_entities: int, shots: int, width: int, dropout: float) -> None:
        """Start at random; `shots` examples of a relation have a channel each in the batch norms."""
        super().__init__()
        self.entities = make_entity_vectors(num_entities, width)
        self.first = ExampleLayer(2 * width, 5 * width, shots)
        self.second = ExampleLayer(5 * width, 2 * width, shots)
        self.third = ExampleLayer(2 * width, width, shots)
        self.dropout = nn.Dropout(dropout)

    def forward(self, support: Tensor) -> Tensor:
        """Return R of each relation, shape (T, d), from vectors of its examples, shape (T, K, 2, d)."""
        states = support.flatten(2)
        for layer in (self.first, self.second):
            states = self.dropout(functional.leaky_relu(layer(states)))
        return self.third(states).mean(1)


class MetaRMethod(TrainableMethod[MetaRSettings, MetaR]):
    """MetaR on one dataset."""

    Settings = MetaRSettings
    presets = {"fast": fast, "paper": paper, "tiny": tiny}  # noqa: RUF012 (never changed)
    starts_from = "vectors"

    @classmethod
    def paper_init(cls, settings: MetaRSettings) -> str:
        """The paper starts from TransE where episodes are drawn from train tasks alone."""
        return "transe" if settings.regime == "pre-train" else ""

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the names of a dataset."""
        self.dataset, self.shots, self.graph = dataset, shots, dataset.graph
        torch.manual_seed(self.settings.seed)
        width, dropout = self.settings.width, self.settings.dropout
        self.module = MetaR(dataset.graph.num_entities, shots, width, dropout).to(self.device)
        self._relation: SupportCache[Tensor] = SupportCache()

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes of many relations."""
        sampler = make_task_sampler(self.settings, self.dataset, self.shots)
        return [self.stage("episodes", partial(self._losses, sampler), bool(self.dataset.valid))]

    def clear_cache(self) -> None:
        """Drop the vector of the last relation."""
        self._relation.clear()

    @torch.no_grad()
    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the entities' vectors of an embedding method."""
        vectors = require_vectors(start, self.settings.width)
        self.module.entities.weight[:-1].copy_(torch.from_numpy(vectors.entities))

    def _losses(self, sampler: TaskBatchSampler, step: int, rng: np.random.Generator) -> Losses:
        """Rank the queries' true tails above wrong ones, by the relations' vectors after their step."""
        settings = self.settings
        if settings.match_released_code and step >= settings.validate_every:
            self.module.eval()
        batch = sampler.draw(rng)
        support, differences = embed(self.module.entities, batch)
        relation = self.module(support)[:, None]  # (T, 1, d)
        near, far = differences.support + relation, differences.wrong_support + relation
        gradient = relation_gradient(near, far, settings.margin)[:, None]
        gradient = gradient / len(relation) if settings.match_released_code else gradient
        moved = relation - settings.inner_rate * gradient
        true, wrong = differences.queries + moved, differences.wrong_queries + moved[:, None]
        losses = {"query": distance_loss(true, wrong, settings.margin)}
        if settings.match_released_code:
            losses["support"] = distance_loss(near, far[:, :, None], settings.margin)
        return losses

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by how near they lie to head + R'; the examples are looked at only once."""
        self.module.eval()
        relation = self._relation.get(support, lambda: self._adapt(support))
        expected = self._vectors(np.array([head]))[0] + relation
        return score_in_batches(lambda some: -(expected - self._vectors(some)).norm(dim=-1), tails, SCORING_BATCH)

    def _adapt(self, support: IntArray) -> Tensor:
        """Return R' of a relation that is known by its examples alone, shape (d,)."""
        vectors = self._vectors(support)[None]
        wrong = self._vectors(draw_wrong_tails(self.dataset.graph, support))[None]
        relation = self.module(vectors)
        expected = vectors[:, :, 0] + relation[:, None]
        gradient = relation_gradient(expected - vectors[:, :, 1], expected - wrong, self.settings.margin)
        return (relation - self.settings.inner_rate * gradient)[0]

    def _vectors(self, entities: IntArray) -> Tensor:
        return self.module.entities(torch.from_numpy(np.array(entities, dtype=np.int64)).to(self.device))

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; entities that the run has never seen stand at the origin."""
        self.prepare(dataset, weights.num_rows("first.norm.weight"))
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
