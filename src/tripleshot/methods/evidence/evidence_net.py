"""`evidence-net`: a network that weighs evidence for a tail, learned over many relations to serve an unseen one."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import Episode, EpisodeSampler, Regime
from tripleshot.methods.caching import SupportCache, in_batches
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.pair_evidence import EvidenceIndex, Examples, PairEvidence
from tripleshot.methods.evidence.reasons import describe_evidence
from tripleshot.methods.losses import listwise_loss
from tripleshot.methods.protocol import Reason
from tripleshot.methods.settings import TrainingSettings, count, setting, share
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights

MAX_PAIRS = 16_384  # whose features are computed at once; it bounds memory
NUM_SAMPLED = 64  # episodes that mean and deviation of the features are taken from


@dataclass(frozen=True)
class EvidenceNetSettings(TrainingSettings):
    """How evidence is weighed, and how that is learned."""

    train_edges: bool = setting(True, "show the triples of train tasks as edges, too, but no episode those of its task")
    text: bool = setting(False, "look at the names of entities, too")
    without_evidence: str = setting(
        "",
        "kinds of evidence to leave out (ablation), separated by commas or blanks: link, path, common, walk, support, "
        "similarity, text",
    )
    hidden_width: int = count(48, "size of the network's hidden layer")
    evidence_dropout: float = share(0.1, "share of the features that are left out of a training step")
    regime: Regime = setting("in-train", "draw episodes from train tasks alone, or from background relations as well")
    background_share: float = share(0.5, "how often a background relation is drawn in the in-train regime")
    batch_size: int = count(64, "B, queries per step")
    relations_per_step: int = count(8, "how many relations share them, each with examples of its own")
    num_negatives: int = count(256, "wrong answers per query")
    steps: int = 3000
    learning_rate: float = 3e-3
    clip: float = 5.0
    validate_every: int = 500
    valid_queries: int = 0
    patience: int = 10
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        FeatureTable(self.text).columns_of(*self.left_out)

    @property
    def left_out(self) -> list[str]:
        """The kinds of evidence to leave out."""
        return self.without_evidence.replace(",", " ").split()


def demo() -> EvidenceNetSettings:
    """Return settings for a small graph and less than a minute."""
    return EvidenceNetSettings(steps=500, validate_every=250, valid_queries=150)


def tiny() -> EvidenceNetSettings:
    """Return settings for a graph of some thirty entities and a few seconds."""
    return EvidenceNetSettings(batch_size=16, num_negatives=16, steps=20, validate_every=10)


class FeatureScorer(nn.Module):
    """A network of one hidden layer over the features of a pair, which it sees by how unusual they are."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, num_features: int, width: int, left_out: Tensor | None = None) -> None:
        """Start at random; `standardize` has to be told what features look like.

        Args:
            num_features: per pair.
            width: of the hidden layer.
            left_out: shape (num_features,), true for those that are never looked at (ablation).
        """
        super().__init__()
        self.left_out = left_out
        self.hidden = nn.Linear(num_features, width)
        self.out = nn.Linear(width, 1, bias=False)
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))

    def standardize(self, features: Tensor) -> None:
        """Take mean and deviation from a sample of pairs, shape (n, num_features)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=1e-3))

    def forward(self, features: Tensor, without: Tensor | None = None) -> Tensor:
        """Score pairs by their features, shape (..., num_features), as if those in `without` had their mean."""
        standardized = (features - self.mean) / self.deviation
        for ignored in (self.left_out, without):
            if ignored is not None:
                standardized = standardized * ~ignored.to(standardized.device)
        return self.out(functional.gelu(self.hidden(standardized))).squeeze(-1)

    @torch.inference_mode()
    def contributions(self, features: Tensor, groups: Tensor) -> tuple[list[float], float]:
        """Split the score of one pair among groups of features.

        Groups are taken away one after the other, in their order and in the opposite one, and the mean of both counts:
        a Shapley value over two orders, so that what two groups say together is divided equally.

        Args:
            features: shape (num_features,).
            groups: shape (number of groups, num_features), true for the features of a group.

        Returns:
            added: what each group adds to the score.
            rest: the score without any of them; with what is added it is the whole score.
        """
        nothing = torch.zeros_like(groups[:1])
        orders = (torch.cat([nothing, order.cumsum(0).bool()]) for order in (groups, groups.flip(0)))
        scores = [self(features.expand(len(without), -1), without).double().cpu() for without in orders]
        added = (-scores[0].diff() - scores[1].diff().flip(0)) / 2
        return added.tolist(), float(scores[0][-1])


class EvidenceNet(TrainableMethod[EvidenceNetSettings, FeatureScorer]):
    """Weighs what joins two entities: links, paths, walks, examples, similarity.

    From RSCL ("Learning Relation-Specific Representations for Few-shot Knowledge Graph Completion", arXiv 2203.11639)
    it takes how it is trained: in episodes, each about one of many relations, with a support and queries of its own, as
    an unseen relation is asked about later. It does not encode the contexts around entities (section IV-A of the
    paper), and its loss is a softmax over true and wrong tails in place of the margin of equation 19.
    """

    Settings = EvidenceNetSettings
    presets = {"fast": EvidenceNetSettings, "demo": demo, "tiny": tiny}  # noqa: RUF012

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Index a dataset's graph and make an untrained network."""
        settings = self.settings
        self.dataset = dataset.with_train_edges if settings.train_edges else dataset
        self.graph, self.shots = self.dataset.graph, shots
        self.index = EvidenceIndex(self.graph, settings.text)
        self.table = FeatureTable(settings.text)
        self._examples: SupportCache[Examples] = SupportCache()
        left_out = torch.from_numpy(self.table.columns_of(*settings.left_out))
        torch.manual_seed(settings.seed)
        self.module = FeatureScorer(len(self.table), settings.hidden_width, left_out).to(self.device)

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
        episodes = [self.sampler.draw(rng) for _ in range(NUM_SAMPLED)]
        self.module.standardize(self._features_of(episodes).flatten(0, -2))
        return [self.stage("evidence", self._losses, validates=bool(self.dataset.valid))]

    def _losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Tell true tails from wrong ones with some of the evidence left out."""
        episodes = [self.sampler.draw(rng) for _ in range(self.settings.relations_per_step)]
        features = self._features_of(episodes)
        without = torch.rand(features.shape[-1], device=features.device) < self.settings.evidence_dropout
        weights = torch.tensor([episode.weight for episode in episodes], device=features.device)
        return {"evidence": listwise_loss(self.module(features, without), weights[:, None, None])}

    def _features_of(self, episodes: list[Episode]) -> Tensor:
        """Return the features of true and wrong tails: shape (relations, B, 1 + n, number of features)."""
        found = []
        for episode in episodes:
            tails = np.concatenate([episode.queries[:, 1:], episode.negatives], axis=1)
            heads = np.broadcast_to(episode.queries[:, :1], tails.shape)
            examples = self.index.read_examples(episode.support, episode.hidden)
            pairs = PairEvidence(self.index, examples, heads.ravel(), tails.ravel())
            found.append(self.table.compute(pairs).reshape(*tails.shape, -1))
        return torch.from_numpy(np.stack(found)).to(self.device)

    @torch.inference_mode()
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by what speaks for each."""
        self.module.eval()
        features = torch.from_numpy(self.features(support, head, tails)).to(self.device)
        return self.module(features).cpu().numpy()

    def features(self, support: IntArray, head: int, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return the features of tails, shape (n, number of features), a bounded number of pairs at a time."""
        examples = self._read(support)
        found = [
            self.table.compute(PairEvidence(self.index, examples, np.full(len(batch), head), batch))
            for batch in in_batches(tails, MAX_PAIRS)
        ]
        return np.concatenate([np.empty((0, len(self.table)), dtype=np.float32), *found])

    def _read(self, support: IntArray) -> Examples:
        """Look at examples once for all queries."""
        return self._examples.get(support, lambda: self.index.read_examples(support))

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; they know no names and serve any dataset."""
        self.prepare(dataset, 0)
        weights.load_into(self.module)
        self.module.eval()

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, the weightiest first; the weights add up to the score.

        Reasons of one kind share what that kind adds.
        """
        features = torch.from_numpy(self.features(support, head, np.array([tail])))[0].to(self.device)
        groups = np.stack([self.table.columns_of(group) for group in self.table.groups])
        added, rest = self.module.contributions(features, torch.from_numpy(groups).to(self.device))
        sentences = describe_evidence(self.index, self._read(support), head, tail)
        reasons = [
            Reason(group, text, weight / len(sentences[group]))
            for group, weight in zip(self.table.groups, added, strict=True)
            for text in sentences[group]
        ]
        reasons.append(Reason("start", "where every answer to this question starts", rest))
        return sorted(reasons, key=lambda reason: -reason.weight)
