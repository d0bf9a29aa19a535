"""A method and a clock to try budgets with: whatever it does takes as long as it is told to, and no time passes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.settings import TrainingSettings
from tripleshot.methods.trainable import TrainableMethod


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@dataclass(frozen=True)
class Pace:
    """Seconds that preparing, one step and one answer take."""

    preparing: float = 0.0
    step: float = 0.1
    answer: float = 0.001


class SlowMethod(TrainableMethod[TrainingSettings, nn.Module]):
    """Learns one number, at a pace."""

    Settings = TrainingSettings
    presets: ClassVar = {"fast": TrainingSettings, "tiny": TrainingSettings}

    def __init__(self, clock, pace):
        super().__init__(TrainingSettings(steps=1000, validate_every=100, patience=0))
        self.clock, self.pace, self.num_steps = clock, pace, 0

    def prepare(self, dataset, shots):
        self.clock.now += self.pace.preparing / 2
        self.graph = dataset.graph
        self.module = nn.Linear(1, 1)

    def stages(self):
        self.clock.now += self.pace.preparing / 2
        return [self.stage("learning", self.losses, validates=True)]

    def losses(self, step, rng):
        self.clock.now += self.pace.step
        self.num_steps += 1
        return {"loss": self.module(torch.ones(1, 1)).square().sum()}

    def score(self, support, head, tails):
        self.clock.now += self.pace.answer
        return np.sin(head + tails.astype(np.float64))

    def restore(self, dataset, weights):
        self.prepare(dataset, 0)
        weights.load_into(self.module)


def make_dataset():
    """Return a dataset with 500 valid queries of as many heads, in two tasks."""
    names = Vocabulary.of("entity", [f"entity {number}" for number in range(600)])
    chain = np.arange(600, dtype=np.int32)
    relations = Vocabulary.of("relation", ["next"])
    graph = KnowledgeGraph(names, relations, chain[:-1], np.zeros(599, dtype=np.int32), chain[1:])

    def task(name, first):
        heads = np.arange(first, first + 253)
        return Task.of(name, np.stack([heads, (heads * 7 + first) % 600], axis=1))

    return FewShotDataset("made up", graph, (task("train", 0),), (task("one", 50), task("other", 300)), ())
