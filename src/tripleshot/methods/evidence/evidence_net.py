"""`evidence-net`: a network that weighs evidence for a tail, learned over many relations to serve an unseen one.

It keeps what RSCL is trained by, episodes of many relations, and looks at what joins two entities instead of at what is
around each: links, paths, walks, examples, likeness. Contexts beside them brought nothing on dev.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import Episode, EpisodeSampler, Regime
from tripleshot.methods.evidence.evidence_head import EvidenceHead
from tripleshot.methods.evidence.features import EvidenceFeatures, Examples
from tripleshot.methods.evidence.kinds import EvidenceKinds
from tripleshot.methods.evidence.reasons import find_reasons
from tripleshot.methods.last_support import LastSupport
from tripleshot.methods.losses import listwise_loss
from tripleshot.methods.protocol import Reason
from tripleshot.methods.settings import TrainingSettings
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights

FEATURES_AT_ONCE = 16_384  # pairs; it bounds memory
LOOKED_AT = 64  # episodes that tell what features usually are


@dataclass(frozen=True)
class EvidenceNetSettings(TrainingSettings):
    """What decides how evidence is weighed.

    Attributes:
        train_edges: show the triples of the train tasks as edges, too, but to no episode those of its own task.
        text: look at how entities are called, too.
        without_evidence: kinds of it to leave out (ablation), with commas or blanks between: link, path, common, walk,
            support, likeness, text.
        hidden_width: size of the network's hidden layer.
        evidence_dropout: how much of it is left out of a training step.
        regime: draw episodes from the train tasks alone, or from background relations as well.
        background_share: how often a background relation is drawn in the in-train regime.
        batch_size: B, queries of a step.
        relations_per_step: how many relations share them, each with examples of its own.
        num_negatives: wrong answers a query.
    """

    train_edges: bool = True
    text: bool = False
    without_evidence: str = ""
    hidden_width: int = 48
    evidence_dropout: float = 0.1
    regime: Regime = "in-train"
    background_share: float = 0.5
    batch_size: int = 64
    relations_per_step: int = 8
    num_negatives: int = 256
    steps: int = 3000
    learning_rate: float = 3e-3
    clip: float = 5.0
    validate_every: int = 500
    valid_queries: int = 0
    patience: int = 10
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        EvidenceKinds(self.text).columns_of(self.without_evidence)


def demo() -> EvidenceNetSettings:
    """Return settings for a small graph and less than a minute."""
    return EvidenceNetSettings(steps=500, validate_every=250, valid_queries=150)


class EvidenceNet(TrainableMethod[EvidenceNetSettings, EvidenceHead]):
    """Evidence of a pair, weighed; the weights of its reasons add up to the score."""

    Settings = EvidenceNetSettings
    presets = {"fast": EvidenceNetSettings, "demo": demo}  # noqa: RUF012

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Index a dataset's graph and make an untrained network."""
        settings = self.settings
        self.dataset = dataset.with_train_edges if settings.train_edges else dataset
        self.graph, self.shots = self.dataset.graph, shots
        self.features = EvidenceFeatures(self.graph, settings.text)
        self._examples: LastSupport[Examples] = LastSupport()
        left_out = torch.from_numpy(self.features.kinds.columns_of(settings.without_evidence))
        torch.manual_seed(settings.seed)
        self.module = EvidenceHead(len(left_out), settings.hidden_width, left_out).to(self.device)

    def stages(self) -> list[Stage]:
        """Tell the network what features usually are, and return its one stage."""
        settings = self.settings
        self.sampler = EpisodeSampler(
            self.dataset,
            self.shots,
            settings.batch_size // settings.relations_per_step,
            settings.num_negatives,
            settings.regime,
            settings.background_share,
        )
        rng = np.random.default_rng(settings.seed)
        episodes = [self.sampler.draw(rng) for _ in range(LOOKED_AT)]
        self.module.standardize(self._features(episodes).flatten(0, -2))
        return [self.stage("evidence", self._losses, validates=bool(self.dataset.valid))]

    def _losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Tell true tails from wrong ones with some of the evidence left out."""
        episodes = [self.sampler.draw(rng) for _ in range(self.settings.relations_per_step)]
        features = self._features(episodes)
        without = torch.rand(features.shape[-1], device=features.device) < self.settings.evidence_dropout
        weights = torch.tensor([episode.weight for episode in episodes], device=features.device)
        return {"evidence": listwise_loss(self.module(features, without), weights[:, None, None])}

    def _features(self, episodes: list[Episode]) -> Tensor:
        """Return the features of true and wrong tails: shape (relations, B, 1 + n, number of features)."""
        found = []
        for episode in episodes:
            tails = np.concatenate([episode.queries[:, 1:], episode.negatives], axis=1)
            heads = np.broadcast_to(episode.queries[:, :1], tails.shape)
            examples = self.features.examples(episode.support, episode.hidden)
            found.append(self.features.of(examples, heads.ravel(), tails.ravel()).reshape(*tails.shape, -1))
        return torch.from_numpy(np.stack(found)).to(self.device)

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by what speaks for each."""
        self.module.eval()
        features = torch.from_numpy(self.features_of(support, head, tails)).to(self.device)
        return self.module(features).cpu().numpy()

    def features_of(self, support: IntArray, head: int, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return the features of tails, a bounded number at a time; the examples are looked at only once."""
        examples = self.examples_of(support)
        parts = [tails[start : start + FEATURES_AT_ONCE] for start in range(0, len(tails), FEATURES_AT_ONCE)]
        found = [self.features.of(examples, np.full(len(part), head), part) for part in parts]
        return np.concatenate([np.empty((0, self.features.kinds.size), dtype=np.float32), *found])

    def examples_of(self, support: IntArray) -> Examples:
        """Look at examples once for all queries."""
        return self._examples.get(support, lambda: self.features.examples(support))

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; they know no names and serve any dataset."""
        self.prepare(dataset, 0)
        weights.load_into(self.module)
        self.module.eval()

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, the weightiest first."""
        found = find_reasons(self.module, self.features, self.examples_of(support), head, tail)
        return sorted(found, key=lambda reason: -reason.weight)
