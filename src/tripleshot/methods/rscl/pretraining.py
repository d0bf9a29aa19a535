"""How RSCL learns: from masked contexts of background and train tasks, then from episodes (paper, section IV-D)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import Episode, EpisodeSampler
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.rscl.context_batches import Batch
from tripleshot.methods.rscl.contexts import NUM_SPECIAL, Tokens
from tripleshot.methods.rscl.masking import mask, masking_loss
from tripleshot.methods.trainable import PRETRAINED, Losses, Stage

if TYPE_CHECKING:
    from tripleshot.methods.rscl.method import RSCLMethod


@dataclass(frozen=True, eq=False)
class DrawnTriples:
    """TrainingTriples to be masked; all shapes are (n,).

    Attributes:
        heads: entity ids; `tails` as well.
        relations: ids of the graph's relations, which contexts must not show; -1 for one that has no edges there.
        relation_tokens: what stands between head and tail.
    """

    heads: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    relation_tokens: npt.NDArray[np.int64]


class PretrainingTriples:
    """Draws triples of the background, read in either direction, and of the train tasks (paper, section V-A)."""

    def __init__(self, dataset: FewShotDataset, tokens: Tokens, task_share: float) -> None:
        """Lay the triples of the train tasks end to end; without a background they are all there is."""
        self.graph, self.tokens = dataset.graph, tokens
        edges = {name: index for index, name in enumerate(self.graph.relations.names.to_pylist())}
        sizes = [len(task.pairs) for task in dataset.train]
        relations = np.array([edges.get(task.name, -1) for task in dataset.train], dtype=np.int64)
        own = tokens.first_task + np.arange(len(sizes))
        self.pairs = np.concatenate([np.empty((0, 2), np.int64), *(task.pairs for task in dataset.train)])
        self.relations = np.repeat(relations, sizes)
        self.relation_tokens = np.repeat(np.where(relations < 0, own, relations + NUM_SPECIAL), sizes)
        self.task_share = task_share if len(self.pairs) else 0.0
        if not self.graph.num_triples:
            self.task_share = min(1.0, float(len(self.pairs)))

    def __len__(self) -> int:
        return self.graph.num_triples + (len(self.pairs) if self.task_share else 0)

    def draw(self, count: int, chance: np.random.Generator) -> DrawnTriples:
        """Draw triples, each of its kind as often as any other."""
        from_tasks = chance.random(count) < self.task_share
        background = self._draw_background(int(np.sum(~from_tasks)), chance)
        rows = chance.integers(max(len(self.pairs), 1), size=int(np.sum(from_tasks)))
        columns = (self.pairs[rows, 0], self.pairs[rows, 1], self.relations[rows], self.relation_tokens[rows])
        return DrawnTriples(*(np.concatenate(both) for both in zip(background, columns, strict=True)))

    def _draw_background(self, count: int, chance: np.random.Generator) -> tuple[npt.NDArray[np.int64], ...]:
        graph = self.graph
        rows = chance.integers(max(graph.num_triples, 1), size=count)
        columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
        heads, relations, tails = (column[rows].astype(np.int64) for column in columns)
        backwards = chance.random(count) < 0.5
        heads, tails = np.where(backwards, tails, heads), np.where(backwards, heads, tails)
        return heads, tails, relations, self.tokens.relations(np.where(backwards, graph.inverse(relations), relations))


class RSCLTraining:
    """The stages of a training, and their losses."""

    def __init__(self, method: "RSCLMethod", shots: int) -> None:
        """Collect the relations that episodes are drawn from."""
        self.method, self.settings, self.dataset = method, method.settings, method.dataset
        settings = self.settings
        self.triples = PretrainingTriples(self.dataset, method.tokens, settings.pretraining_task_share)
        self.sampler = EpisodeSampler(
            self.dataset,
            shots,
            settings.batch_size // settings.relations_per_step,
            settings.num_negatives,
            settings.regime,
            settings.background_share,
        )

    def stages(self) -> list[Stage]:
        """Return what training goes through: masked contexts, then episodes.

        The weights between pre-training and episodes are kept: other runs can start from them.
        """
        settings = self.settings
        pace, validates = (settings.schedule, settings.warmup), bool(self.dataset.valid)
        pretraining = Stage(
            "pre-training",
            self._pretraining_losses,
            settings.pretraining_steps,
            settings.pretraining_rate,
            "linear",
            settings.warmup,
            keep_as=PRETRAINED,
        )
        episodes = Stage(
            "episodes", self._episode_losses, settings.steps, settings.learning_rate, *pace, validates=validates
        )
        can_pretrain = settings.use_global and len(self.triples) > 0
        wants_to = settings.pretraining_steps and not settings.pretrained
        return [
            *([pretraining] if wants_to and can_pretrain else []),
            episodes,
        ]

    def _pretraining_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Mask contexts of triples; the triple itself is kept out of its context, on both sides."""
        method, tokens = self.method, self.method.tokens
        method.module.dropout.begin(step)
        drawn = self.triples.draw(self.settings.pretraining_batch_size, chance)
        hidden = HiddenEdges(drawn.relations, drawn.tails)
        contexts = method.extractor.extract(drawn.heads, drawn.tails, drawn.relation_tokens, chance, hidden)
        batch = Batch.of(contexts, method.extractor, method.device)
        relations = torch.from_numpy(drawn.relation_tokens).to(method.device)
        masked = mask(batch, tokens, relations, self.settings.masking_shares)
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
