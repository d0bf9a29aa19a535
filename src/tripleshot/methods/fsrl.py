"""FSRL (Zhang et al., 2020): neighbors weighed by attention, examples by a recurrent auto-encoder and attention.

Pairs are encoded and matched with the prototype as in GMatching.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.csr import IntArray
from tripleshot.dataset import FewShotDataset
from tripleshot.episodes import EpisodeSampler, Regime
from tripleshot.losses import ranking_loss
from tripleshot.method import FloatArray
from tripleshot.methods.episode_fitting import check_settings, sampler_of
from tripleshot.methods.fitting import fit_module
from tripleshot.methods.matching import KeptCodes, MatchingProcessor, PairEncoder, encode_episode, score_tails
from tripleshot.methods.symbol_vectors import SymbolVectors, restore_weights
from tripleshot.methods.task_fitting import fitting_of, stage_of
from tripleshot.neighbor_encoders import NeighborFinder, Neighborhoods
from tripleshot.schedules import Schedule
from tripleshot.training import Losses, Observer


@dataclass(frozen=True)
class FSRLSettings:
    """Everything that decides what FSRL is and how it learns; the defaults are for two CPU cores.

    Attributes:
        width: d, size of the embeddings.
        dropout: rate on the neighbors' vectors as they are looked up.
        encoder_dropout: rate in the encoder of pairs.
        matching_steps: steps of the LSTM that matches a query with the prototype.
        max_neighbors: direct neighbors of an entity at most.
        regime: draw episodes from the train tasks alone, or from background relations as well.
        background_share: how often a background relation is drawn in the in-train regime.
        batch_size: B, queries of a step, all of one relation.
        num_negatives: wrong answers a query.
        margin: gamma of the ranking loss.
        pretrained: folder of a run of an embedding method whose vectors to start from; empty starts at random.
        fine_tune: let the vectors of entities and relations learn; a random start must.
        reconstruction_weight: weight of the auto-encoder's loss beside the ranking loss; 0 leaves its decoder out.
        faithful: let padded places take part in the attention to neighbors, and let the auto-encoder's loss teach the
            examples but not the decoder, as the public code does.
        steps: training steps.
        learning_rate: of Adam.
        schedule: how the learning rate goes down.
        warmup: steps over which it rises.
        clip: largest gradient norm; 0 does not clip.
        validate_every: steps between validations.
        valid_queries: dev queries of a validation, the same ones each time; 0 takes all.
        patience: validations without a better one before training stops; 0 never stops early.
        checkpoint_every: steps between checkpoints.
        seed: of everything random.
    """

    width: int = 100
    dropout: float = 0.5
    encoder_dropout: float = 0.5
    matching_steps: int = 2
    max_neighbors: int = 30
    regime: Regime = "pre-train"
    background_share: float = 0.5
    batch_size: int = 128
    num_negatives: int = 1
    margin: float = 5.0
    pretrained: str = ""
    fine_tune: bool = True
    reconstruction_weight: float = 1e-5
    faithful: bool = False
    steps: int = 30_000
    learning_rate: float = 1e-3
    schedule: Schedule = "linear"
    warmup: int = 200
    clip: float = 5.0
    validate_every: int = 2000
    valid_queries: int = 200
    patience: int = 10
    checkpoint_every: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)


def paper() -> FSRLSettings:
    """Return the published settings for NELL-One; they start from ComplEx, whose vectors stay as they are."""
    return FSRLSettings(
        steps=200_000, learning_rate=1e-4, schedule="once", warmup=0, validate_every=10_000, valid_queries=0
    )


class RecurrentAggregator(nn.Module):
    """The prototype of K examples: an LSTM reads them, attention weighs what it makes of each.

    With m_k the LSTM's state after example g_k, v_k = g_k + m_k, the prototype is the sum of beta_k v_k, where beta is
    the softmax of u tanh(W v_k). A second LSTM tries to tell the examples again from the last state.
    """

    def __init__(self, width: int) -> None:
        """Make it for pairs of codes of this width."""
        super().__init__()
        self.reader = nn.LSTM(2 * width, 2 * width)
        self.teller = nn.LSTMCell(2 * width, 2 * width)
        self.compare = nn.Linear(2 * width, width)
        self.weigh = nn.Linear(width, 1, bias=False)  # a bias would move all logits alike
        for layer in (self.compare, self.weigh):
            nn.init.xavier_normal_(layer.weight)

    def forward(self, examples: Tensor) -> Tensor:
        """Return the prototype, shape (2d,), of encoded examples, shape (K, 2d)."""
        values = examples + self.reader(examples)[0]
        weights = self.weigh(torch.tanh(self.compare(values))).softmax(0)  # (K, 1)
        return (weights * values).sum(0)

    def tell(self, examples: Tensor) -> Tensor:
        """Return the examples, shape (K, 2d), as the second LSTM tells them, beginning with the first."""
        states, (_, cell) = self.reader(examples)
        told, cell = states[-1:], cell.view(1, -1)
        again = []
        for _ in range(len(examples)):
            # What it has told is both its state and its next input.
            told, cell = self.teller(told, (told, cell))
            again.append(told)
        return torch.cat(again)


class FSRL(nn.Module):
    """Neighbors to codes, pairs of codes to scores."""

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
        """Make the network; `padded_to` lets so many places take part in the attention, 0 masks padding."""
        super().__init__()
        self.padded_to = padded_to
        self.symbols = SymbolVectors(num_entities, num_relations, width)
        self.dropout = nn.Dropout(dropout)
        self.compare = nn.Linear(2 * width, width)
        self.weigh = nn.Linear(width, 1, bias=False)
        for layer in (self.compare, self.weigh):
            nn.init.xavier_normal_(layer.weight)
        self.encode_pair = PairEncoder(width, encoder_dropout)
        self.aggregator = RecurrentAggregator(width)
        self.processor = MatchingProcessor(width, matching_steps)

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

    def match(self, pairs: Tensor, prototype: Tensor) -> Tensor:
        """Score pairs, shape (n, 2d), against a prototype: shape (n,)."""
        return self.processor(self.encode_pair(pairs), prototype)


class FSRLMethod:
    """FSRL on one dataset."""

    Settings = FSRLSettings
    presets = {"fast": FSRLSettings, "paper": paper}  # noqa: RUF012 (never changed)

    def __init__(self, settings: FSRLSettings | None = None, device: str = "cpu") -> None:
        """Choose settings; the network is made when the dataset is known."""
        self.settings = settings or FSRLSettings()
        self.device = torch.device(device)

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> "FSRLMethod":
        """Make the method from settings as a run keeps them."""
        return cls(FSRLSettings(**settings), device)

    def prepare(self, dataset: FewShotDataset) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        settings, graph = self.settings, dataset.graph
        torch.manual_seed(settings.seed)
        self.finder = NeighborFinder(graph, settings.max_neighbors, self.device)
        self.module = FSRL(
            graph.num_entities,
            graph.num_relations,
            settings.width,
            settings.dropout,
            settings.encoder_dropout,
            settings.matching_steps,
            settings.max_neighbors if settings.faithful else 0,
        ).to(self.device)
        self.codes = KeptCodes(graph.num_entities, lambda entities: self.module.encode(self.finder.find(entities)))

    def fit(
        self,
        dataset: FewShotDataset,
        shots: int,
        folder: Path | None = None,
        resume: bool = False,
        observer: Observer | None = None,
    ) -> None:
        """Train, and keep the weights that were best on the valid tasks.

        Args:
            dataset: background, train tasks to learn from, valid tasks to choose on.
            shots: K.
            folder: where weights, checkpoint and log go; None keeps nothing on disk.
            resume: go on from the checkpoint in the folder.
            observer: is told about every step.
        """
        settings = self.settings
        self.prepare(dataset)
        self.module.symbols.begin(settings.pretrained, settings.fine_tune, dataset)
        sampler = sampler_of(settings, dataset, shots)
        stage = stage_of(settings, lambda step, chance: self._losses(sampler, chance), bool(dataset.valid))
        fitting = fitting_of(settings, dataset, shots, folder, resume, observer)
        fit_module(self, self.module, [stage], fitting, self.codes.forget)

    def _losses(self, sampler: EpisodeSampler, chance: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones, and tell the examples again."""
        settings = self.settings
        pairs = encode_episode(self.module, self.finder, sampler.draw(chance), chance)
        examples = self.module.encode_pair(pairs.support)
        positive, negative = pairs.scores(self.module, self.module.aggregator(examples))
        losses = {"ranking": ranking_loss(positive, negative, settings.margin)}
        if settings.reconstruction_weight:
            told = self.module.aggregator.tell(examples)
            told = told.detach() if settings.faithful else told
            losses["reconstruction"] = settings.reconstruction_weight * functional.mse_loss(told, examples)
        return losses

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by their neighbors; an entity's neighbors are encoded once for all questions."""
        self.module.eval()
        return score_tails(self.module, self.codes, support, head, tails)

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run; a neighbor or relation that the run has never seen says nothing."""
        self.prepare(dataset)
        restore_weights(self.module, folder, dataset.graph)
        self.module.eval()
