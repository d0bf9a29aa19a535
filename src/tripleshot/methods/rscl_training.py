"""How RSCL learns: from masked contexts of the background, then from episodes (paper, section IV-D)."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from tripleshot.checkpoints import save_weights
from tripleshot.context_batches import Batch
from tripleshot.contexts import Hidden
from tripleshot.episodes import Episode, EpisodeSampler
from tripleshot.losses import listwise_loss, ranking_loss
from tripleshot.masking import mask, masking_loss
from tripleshot.pair_index import NOTHING
from tripleshot.training import Losses, Stage

if TYPE_CHECKING:
    from tripleshot.methods.rscl import RSCLMethod

PRETRAINED = "pretrained.safetensors"
EVIDENCE_RATE = 3e-3  # of a network so small that there is nothing to tune
LOOKED_AT = 64  # episodes that tell what features usually are


class RSCLTraining:
    """The stages of a training, and their losses."""

    def __init__(self, method: "RSCLMethod", shots: int) -> None:
        """Collect the relations that episodes are drawn from."""
        self.method, self.settings, self.dataset = method, method.settings, method.dataset
        settings = self.settings
        self.sampler = EpisodeSampler(
            self.dataset,
            shots,
            settings.batch_size // settings.relations_per_step,
            settings.evidence_negatives if settings.evidence else settings.num_negatives,
            settings.regime,
            settings.background_share,
            settings.hard_share,
        )

    def begin(self) -> None:
        """Look at some episodes to learn what features usually are."""
        if self.method.module.evidence is not None:
            chance = np.random.default_rng(self.settings.seed)
            episodes = [self.sampler.draw(chance) for _ in range(LOOKED_AT)]
            self.method.module.evidence.standardize(self._features(episodes).flatten(0, -2))

    def stages(self, folder: Path | None) -> list[Stage]:
        """Return what training goes through: masked contexts, then what evidence weighs, then episodes.

        The weights between pre-training and episodes are kept in the folder: other runs can start from them.
        """
        settings, module = self.settings, self.method.module
        pace, validates = (settings.schedule, settings.warmup), bool(self.dataset.valid)
        pretraining = Stage(
            "pre-training",
            self._pretraining_losses,
            settings.pretraining_steps,
            settings.pretraining_rate,
            "linear",
            settings.warmup,
            finished=None if folder is None else lambda: save_weights(module, folder, PRETRAINED),
        )
        evidence = Stage(
            "evidence",
            self._evidence_losses,
            settings.evidence_steps,
            EVIDENCE_RATE,
            "linear",
            validates=validates and not settings.reads_contexts,
        )
        episodes = Stage(
            "episodes", self._episode_losses, settings.steps, settings.learning_rate, *pace, validates=validates
        )
        can_pretrain = settings.use_global and self.dataset.graph.num_triples > 0
        wants_to = settings.pretraining_steps and not settings.pretrained
        return [
            *([pretraining] if wants_to and can_pretrain else []),
            *([evidence] if settings.evidence else []),
            *([episodes] if settings.reads_contexts else []),
        ]

    def _pretraining_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Mask contexts of background triples, read in either direction, with the target edge kept out of them."""
        method, graph, tokens = self.method, self.dataset.graph, self.method.tokens
        method.module.dropout.begin(step)
        rows = chance.integers(graph.num_triples, size=self.settings.pretraining_batch_size)
        columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
        heads, relations, tails = (column[rows].astype(np.int64) for column in columns)
        backwards = chance.random(len(rows)) < 0.5
        heads, tails = np.where(backwards, tails, heads), np.where(backwards, heads, tails)
        relation_tokens = tokens.relations(relations + backwards * graph.num_relations)
        contexts = method.extractor.extract(heads, tails, relation_tokens, chance, Hidden(relations, tails))
        batch = Batch.of(contexts, method.extractor, method.device)
        masked = mask(batch, tokens, torch.from_numpy(relation_tokens).to(method.device))
        return {"masking": masking_loss(method.module, masked, tokens, self.settings.num_sampled)}

    def _draw(self, chance: np.random.Generator) -> list[Episode]:
        return [self.sampler.draw(chance) for _ in range(self.settings.relations_per_step)]

    def _evidence_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Tell true tails from wrong ones by evidence alone, some of it left out."""
        module, episodes = self.method.module, self._draw(chance)
        assert module.evidence is not None
        features = self._features(episodes)
        without = torch.rand(features.shape[-1], device=features.device) < self.settings.evidence_dropout
        return {"evidence": listwise_loss(module.evidence(features, without), self._weights(episodes))}

    def _episode_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones; mask the contexts of the true triples, too."""
        settings, module = self.settings, self.method.module
        module.dropout.begin(step)
        episodes = self._draw(chance)
        if module.evidence is None:
            scores, losses = self.method.reader.read(episodes, chance)
        else:
            episodes, evidence = self._choose(episodes, chance)
            scores, losses = self.method.reader.read(episodes, chance)
            scores = module.evidence.trust.exp() * scores + evidence
        if settings.ranking_loss == "softmax":
            return {"ranking": listwise_loss(scores, self._weights(episodes)), **losses}
        return {"ranking": ranking_loss(scores[..., :1], scores[..., 1:], settings.margin), **losses}

    @torch.no_grad()
    def _choose(self, episodes: list[Episode], chance: np.random.Generator) -> tuple[list[Episode], Tensor]:
        """Keep few wrong answers: those that evidence finds most likely, and as many that stand for all the others.

        Returns:
            chosen: the episodes with these wrong answers only.
            evidence: their scores by evidence, shape (relations, B, 1 + n), the true tail first.
        """
        assert self.method.module.evidence is not None
        scores = self.method.module.evidence(self._features(episodes)).cpu().numpy()
        count = self.settings.num_negatives
        num_best = -(-count // 2)
        chosen, kept = [], []
        for episode, row in zip(episodes, scores, strict=True):
            order = np.argsort(-(row[:, 1:] + np.log(episode.weights)), axis=1, kind="stable")
            best, others = order[:, :num_best], order[:, num_best:]
            masses = np.take_along_axis(episode.weights, others, axis=1)
            drawn = np.argsort(-np.log(masses) - chance.gumbel(size=masses.shape), axis=1)[:, : count - num_best]
            places = np.concatenate([best, np.take_along_axis(others, drawn, axis=1)], axis=1)
            weights = np.take_along_axis(episode.weights, places, axis=1)
            weights[:, num_best:] = masses.sum(axis=1, keepdims=True) / max(count - num_best, 1)
            negatives = np.take_along_axis(episode.negatives, places, axis=1)
            chosen.append(replace(episode, negatives=negatives, weights=weights))
            kept.append(np.concatenate([row[:, :1], np.take_along_axis(row[:, 1:], places, axis=1)], axis=1))
        return chosen, torch.from_numpy(np.stack(kept)).to(self.method.device)

    def _weights(self, episodes: list[Episode]) -> Tensor:
        return torch.from_numpy(np.stack([episode.weights for episode in episodes])).to(self.method.device)

    def _features(self, episodes: list[Episode]) -> Tensor:
        """Return the features of true and wrong tails: shape (relations, B, 1 + n, number of features)."""
        assert self.method.features is not None
        found = []
        for episode in episodes:
            hidden = NOTHING if episode.hidden is None else episode.hidden
            tails = np.concatenate([episode.queries[:, 1:], episode.negatives], axis=1)
            heads = np.broadcast_to(episode.queries[:, :1], tails.shape)
            examples = self.method.features.examples(episode.support, hidden)
            found.append(self.method.features.of(examples, heads.ravel(), tails.ravel()).reshape(*tails.shape, -1))
        return torch.from_numpy(np.stack(found)).to(self.method.device)
