"""`universal`: `evidence-net` with the weights that come with the package, for any graph, without training.

The network knows no names: it weighs kinds of evidence. Trained on many graphs at once, it serves one that it has never
seen. The card beside the weights says which graphs went in, and how it was measured.
"""

import json
from dataclasses import dataclass, field, replace

from safetensors.numpy import load_file

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.evidence_net import EvidenceNet, EvidenceNetSettings
from tripleshot.methods.protocol import Reason
from tripleshot.methods.trainable import UNIVERSAL, WEIGHTS, TrainedWeights

CONFIG = "config.json"


def universal_settings() -> EvidenceNetSettings:
    """Return the settings that the weights were trained with."""
    return EvidenceNetSettings(**json.loads((UNIVERSAL / CONFIG).read_text(encoding="utf-8"))["settings"])


def universal_weights() -> TrainedWeights:
    """Return the weights that come with the package."""
    return TrainedWeights.of(load_file(UNIVERSAL / WEIGHTS), None, "the universal weights")


@dataclass
class Universal:
    """The network of `evidence-net` as it comes with the package."""

    train_edges: bool = True
    graph: KnowledgeGraph = field(init=False, repr=False)
    _network: EvidenceNet = field(init=False, repr=False)

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Index a dataset's graph."""
        self._network = EvidenceNet(replace(universal_settings(), train_edges=self.train_edges))
        self._network.restore(dataset, universal_weights())
        self.graph = self._network.graph

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by what speaks for each."""
        return self._network.score(support, head, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, the weightiest first; the weights add up to the score."""
        return self._network.explain(support, head, tail)
