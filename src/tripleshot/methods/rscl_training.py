"""How RSCL learns: from masked contexts of the background, then from episodes (paper, section IV-D)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tripleshot.checkpoints import save_weights
from tripleshot.context_batches import Batch
from tripleshot.contexts import Hidden
from tripleshot.episodes import Episode, EpisodeSampler
from tripleshot.losses import ranking_loss
from tripleshot.masking import mask, masking_loss
from tripleshot.training import Losses, Stage

if TYPE_CHECKING:
    from tripleshot.methods.rscl import RSCLMethod

PRETRAINED = "pretrained.safetensors"


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
            settings.num_negatives,
            settings.regime,
            settings.background_share,
        )

    def stages(self, folder: Path | None) -> list[Stage]:
        """Return what training goes through: masked contexts, then episodes.

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
        episodes = Stage(
            "episodes", self._episode_losses, settings.steps, settings.learning_rate, *pace, validates=validates
        )
        can_pretrain = settings.use_global and self.dataset.graph.num_triples > 0
        wants_to = settings.pretraining_steps and not settings.pretrained
        return [
            *([pretraining] if wants_to and can_pretrain else []),
            episodes,
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

    def _episode_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones; mask the contexts of the true triples, too."""
        settings, module = self.settings, self.method.module
        module.dropout.begin(step)
        episodes = self._draw(chance)
        scores, losses = self.method.reader.read(episodes, chance)
        return {"ranking": ranking_loss(scores[..., :1], scores[..., 1:], settings.margin), **losses}
