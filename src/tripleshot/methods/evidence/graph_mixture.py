"""One network that learns from several graphs at once, so that it serves one that it has never seen.

Each graph is there whole, in thinned copies, so that what is learned does not depend on how dense a graph is, and with
its relations turned around, since people ask for heads as well.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tripleshot.datasets.dataset import FewShotDataset, Task, background_tasks
from tripleshot.errors import InputError
from tripleshot.methods.evidence.evidence_net import NUM_SAMPLED, EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings
from tripleshot.methods.trainable import Losses, Stage, TrainedWeights, Vectors

if TYPE_CHECKING:
    from torch import Tensor

    from tripleshot.methods.evidence.scoring import FeatureScorer

THINNED = (0.5, 0.2)  # shares of the edges that copies of a graph keep
WHOLE = 0.4  # of a graph's share; thinned copies have what this and the next leave
TURNED = 0.25  # of a graph's share, with its relations turned around
GRAPHS_PER_STEP = 2


class GraphMixture:
    """The same network on every graph of a mixture.

    Attributes:
        settings: of the network and its training.
        wholes: the network on each dataset as it is.
        parts: the same, and the copies that are learned from, too.
        weights: shape (number of parts,), how often each is drawn.
    """

    def __init__(
        self,
        settings: EvidenceNetSettings,
        datasets: Sequence[FewShotDataset],
        shots: int,
        thinned: Sequence[float] = THINNED,
        device: str = "cpu",
    ) -> None:
        """Index all graphs.

        Args:
            settings: of the network and its training.
            datasets: whose train tasks and background relations are learned from.
            shots: K, for validation; in training the settings may mix other numbers.
            thinned: shares of the edges that further copies of each graph keep.
            device: where to compute.
        """
        if settings.relations_per_step % GRAPHS_PER_STEP:
            raise InputError(f"relations_per_step must be a multiple of {GRAPHS_PER_STEP} for several graphs")
        self.settings, self.clip = settings, settings.clip
        self.wholes = tuple(self._part(settings, dataset, shots, device) for dataset in datasets)
        rng = np.random.default_rng(settings.seed)
        copied, given = replace(settings, train_edges=False), np.sqrt([_num_tasks(whole) for whole in self.wholes])
        parts, weights = list(self.wholes), (given * WHOLE).tolist()
        for whole, weight in zip(self.wholes, given.tolist(), strict=True):
            parts.append(self._part(replace(copied, regime="pre-train"), turned(whole.dataset), shots, device))
            weights.append(weight * TURNED)
            for share in thinned:
                copy = replace(whole.dataset, graph=whole.graph.thinned(share, rng))
                parts.append(self._part(copied, copy, shots, device))
                weights.append(weight * (1 - WHOLE - TURNED) / len(thinned))
        self.parts, self.weights = tuple(parts), np.array(weights) / np.sum(weights)
        for part in self.parts[1:]:
            part.share_network(self.module)

    @staticmethod
    def _part(settings: EvidenceNetSettings, dataset: FewShotDataset, shots: int, device: str) -> EvidenceNet:
        part = EvidenceNet(settings, device)
        part.prepare(dataset, shots)
        return part

    @property
    def module(self) -> "FeatureScorer":
        """The one network."""
        return self.parts[0].module

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the network of another run, and what features usually are there."""
        self.parts[0].take_network(start)
        for part in self.parts[1:]:
            part.share_network(self.module)

    def stages(self) -> list[Stage]:
        """Tell the network what features usually are on all graphs together, and return its one stage."""
        import torch

        (stage,) = self.parts[0].stages()
        for part in self.parts[1:]:
            part.make_sampler()
        if not self.parts[0].is_started:
            rng = np.random.default_rng(self.settings.seed)
            drawn = (self._draw(rng)[0].flatten(0, -2) for _ in range(NUM_SAMPLED))
            self.module.standardize(torch.cat(list(drawn)))
        return [replace(stage, losses=self._losses, validates=False, validates_first=False)]

    def _draw(self, rng: np.random.Generator) -> "tuple[Tensor, Tensor, Tensor]":
        """Draw one of the graphs and episodes of some of its relations; return their features, trust and weights."""
        part = self.parts[rng.choice(len(self.parts), p=self.weights)]
        return part.draw(rng, self.settings.relations_per_step // GRAPHS_PER_STEP)

    def _losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Tell true tails from wrong ones on some of the graphs."""
        import torch

        drawn = zip(*(self._draw(rng) for _ in range(GRAPHS_PER_STEP)), strict=True)
        return {"evidence": self.parts[0].loss(*map(torch.cat, drawn))}

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        for part in self.parts:
            part.clear_cache()


def turned(dataset: FewShotDataset) -> FewShotDataset:
    """Return a dataset whose train tasks are all train tasks and background relations turned around."""
    tasks = (*dataset.train, *background_tasks(dataset.graph))
    named = {task.name: task for task in reversed(tasks)}
    return replace(dataset, train=tuple(map(_turn, named.values())), valid=(), test=())


def _turn(task: Task) -> Task:
    return Task.of(task.name, task.pairs[:, ::-1], task.known[:, ::-1])


def _num_tasks(part: EvidenceNet) -> int:
    return len({task.name for task in part.dataset.train} | set(part.graph.relations.names.to_pylist()))
