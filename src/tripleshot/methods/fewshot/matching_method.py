"""GMatching and FSRL as methods: they differ in how they read neighbors and examples, and in what they lose."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.methods.caching import EntityCache
from tripleshot.methods.episode_settings import NeighborSettings, sampler_of
from tripleshot.methods.fewshot.matching import Matcher, encode_episode, score_tails
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder
from tripleshot.methods.fewshot.vectors import restore_weights
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors


@dataclass(frozen=True)
class MatchingSettings(NeighborSettings):
    """What GMatching and FSRL share.

    Attributes:
        matching_steps: steps of the LSTM that matches a query with the prototype.
        faithful: count padded places as the public code does.
    """

    matching_steps: int = 2
    faithful: bool = False


SettingsType = TypeVar("SettingsType", bound=MatchingSettings)
MatcherType = TypeVar("MatcherType", bound=Matcher)


class MatchingMethod(TrainableMethod[SettingsType, MatcherType]):
    """A matcher on one dataset."""

    Network: ClassVar[Any]
    starts_from = "vectors"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        self.dataset, self.shots, self.graph = dataset, shots, dataset.graph
        settings, graph = self.settings, dataset.graph
        torch.manual_seed(settings.seed)
        self.finder = NeighborFinder(graph, settings.max_neighbors, self.device)
        self.module = self.Network(
            graph.num_entities,
            graph.num_relations,
            settings.width,
            settings.dropout,
            settings.encoder_dropout,
            settings.matching_steps,
            settings.max_neighbors if settings.faithful else 0,
        ).to(self.device)
        self.module.symbols.requires_grad_(settings.fine_tune)
        self.codes = EntityCache(graph.num_entities, lambda entities: self.module.encode(self.finder.find(entities)))

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        self.module.symbols.take(start)

    def stages(self) -> list[Stage]:
        """Return the one stage: episodes."""
        sampler = sampler_of(self.settings, self.dataset, self.shots)
        losses = partial(self._losses, sampler)
        return [self.stage("episodes", losses, bool(self.dataset.valid))]

    def _losses(self, sampler: EpisodeSampler, _step: int, rng: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones."""
        pairs = encode_episode(self.module, self.finder, sampler.draw(rng), rng)
        positive, negative = pairs.scores(self.module, self.module.prototype(pairs.support))
        return {"ranking": ranking_loss(positive, negative, self.settings.margin)}

    def clear_cache(self) -> None:
        """Drop the entities' codes."""
        self.codes.clear()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by their neighbors; an entity's neighbors are encoded once for all questions."""
        self.module.eval()
        return score_tails(self.module, self.codes, support, head, tails)

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; a neighbor or relation that the run has never seen says nothing."""
        self.prepare(dataset, 0)
        restore_weights(self.module, weights, dataset.graph)
        self.module.eval()
