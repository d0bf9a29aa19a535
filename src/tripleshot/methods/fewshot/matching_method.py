"""GMatching and FSRL as methods: they differ in how they read neighbors and examples, and in what they lose."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.methods.episode_settings import NeighborSettings, sampler_of
from tripleshot.methods.fewshot.matching import Matcher, encode_episode, score_tails
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder
from tripleshot.methods.fewshot.vectors import restore_weights
from tripleshot.methods.kept_codes import KeptCodes
from tripleshot.methods.learner import Learner
from tripleshot.methods.losses import ranking_loss
from tripleshot.training.trainer import Losses, Stage


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


class MatchingMethod(Learner[SettingsType, MatcherType]):
    """A matcher on one dataset."""

    Network: ClassVar[Any]

    def prepare(self, dataset: FewShotDataset) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
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
        self.codes = KeptCodes(graph.num_entities, lambda entities: self.module.encode(self.finder.find(entities)))

    def begin(self, dataset: FewShotDataset, shots: int, folder: Path | None) -> list[Stage]:
        """Make an untrained network, perhaps with vectors of an embedding method, and return its one stage."""
        self.prepare(dataset)
        self.module.symbols.begin(self.settings.pretrained, self.settings.fine_tune, dataset)
        sampler = sampler_of(self.settings, dataset, shots)
        return [self.stage("episodes", lambda step, chance: self._losses(sampler, chance), bool(dataset.valid))]

    def _losses(self, sampler: EpisodeSampler, chance: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones."""
        pairs = encode_episode(self.module, self.finder, sampler.draw(chance), chance)
        positive, negative = pairs.scores(self.module, self.module.prototype(pairs.support))
        return {"ranking": ranking_loss(positive, negative, self.settings.margin)}

    def forget(self) -> None:
        """Drop the entities' codes."""
        self.codes.forget()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by their neighbors; an entity's neighbors are encoded once for all questions."""
        self.module.eval()
        return score_tails(self.module, self.codes, support, head, tails)

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run; a neighbor or relation that the run has never seen says nothing."""
        self.prepare(dataset)
        restore_weights(self.module, folder, dataset.graph)
        self.module.eval()
