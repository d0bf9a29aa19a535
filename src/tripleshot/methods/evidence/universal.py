"""`universal`: `evidence-net` with the weights that come with the package, for any graph, without training.

The network knows no names: it weighs kinds of evidence. Trained on many graphs at once, it serves one that it has never
seen, and takes seconds to fit itself to it. The card beside the weights says which graphs went in, and how it
was measured.
"""

import json
from dataclasses import dataclass, field, replace

from safetensors.numpy import load_file

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings
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
    """The network of `evidence-net` as it comes with the package, fitted to the graph that it is asked about.

    Attributes:
        train_edges: show the triples of train tasks as edges, too.
        fitted: fit the weights to the relations of the graph; otherwise they stay as they come.
        network: that answers, once there is a graph.
    """

    train_edges: bool = True
    fitted: bool = True
    network: EvidenceNet = field(init=False, repr=False)

    @property
    def is_prepared(self) -> bool:
        """Whether there is a graph yet."""
        return hasattr(self, "network")

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that it looks at."""
        return self.network.graph

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Index a dataset's graph, and fit the weights to it."""
        self.network = EvidenceNet(replace(universal_settings(), train_edges=self.train_edges))
        self.network.restore(dataset, universal_weights())
        if self.fitted:
            self.network.fit_to_graph()

    def on(self, dataset: FewShotDataset) -> "Universal":
        """Return the same weights on a graph that has changed a little."""
        other = Universal(self.train_edges, self.fitted)
        other.network = EvidenceNet(self.network.settings)
        other.network.restore(dataset, TrainedWeights.of(self.network.state(), None, "the fitted weights"))
        return other

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by what speaks for each."""
        return self.network.score(support, head, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, the weightiest first; the weights add up to the score."""
        return self.network.explain(support, head, tail)
