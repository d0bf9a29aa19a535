"""`evidence-net`: a network that weighs evidence for a tail, learned over many relations to serve an unseen one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray, hash_arrays
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.index_files import keep
from tripleshot.methods.caching import SupportCache, in_batches
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import TYPE, FeatureTable
from tripleshot.methods.evidence.graph_fitting import NUM_PAIRS, FittedHalves, fit_to_own_relations, fitting_code
from tripleshot.methods.evidence.network_weights import NetworkWeights
from tripleshot.methods.evidence.pair_evidence import Examples, TailsByHead
from tripleshot.methods.evidence.question_scorer import QuestionScorer
from tripleshot.methods.evidence.reasons import describe_evidence
from tripleshot.methods.evidence.settings import EvidenceNetSettings, tiny, universal
from tripleshot.methods.evidence.trust import TrustMeter
from tripleshot.methods.protocol import START, Reason, ScoreTails
from tripleshot.methods.trainable import Losses, Stage, TrainableMethod, TrainedWeights, Vectors

if TYPE_CHECKING:  # nobody waits for torch who asks with weights that are there
    from torch import Tensor

    from tripleshot.methods.evidence.scoring import FeatureScorer

MAX_PAIRS = 65_536  # scored at once; it bounds memory
NUM_SAMPLED = 64  # episodes that mean and deviation of the features are taken from


class EvidenceNet(TrainableMethod[EvidenceNetSettings, "FeatureScorer"]):
    """Weighs what joins two entities: links, paths, walks, examples, similarity.

    From RSCL ("Learning Relation-Specific Representations for Few-shot Knowledge Graph Completion", arXiv 2203.11639)
    it takes how it is trained: in episodes, each about one of many relations, with a support and queries of its own, as
    an unseen relation is asked about later. It does not encode the contexts around entities (section IV-A of the
    paper), and its loss is a softmax over true and wrong tails in place of the margin of equation 19.
    """

    Settings = EvidenceNetSettings
    starts_from, knows_names = "network", False
    is_started = False  # whether it has the network of another run, which knows what features usually are
    presets = {"fast": EvidenceNetSettings, "universal": universal, "tiny": tiny}  # noqa: RUF012

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Index a dataset's graph and make an untrained network."""
        self._index(dataset, shots)
        self._trained, self.is_started = None, False
        self._module = self._make_module()

    def _index(self, dataset: FewShotDataset, shots: int) -> None:
        settings = self.settings
        self.dataset = dataset.with_train_edges if settings.train_edges else dataset
        self.graph, self.shots = self.dataset.graph, shots
        self.index = EvidenceIndex(self.graph, settings.text)
        self.table = FeatureTable(settings.text)
        self.trust = TrustMeter(self.index, self.table, settings.trust)
        self._examples: SupportCache[Examples] = SupportCache()
        self._scorers: SupportCache[ScoreTails] = SupportCache()
        self._left_out = self.table.columns_of(*settings.left_out)
        self._halves: FittedHalves | None = None

    def _make_module(self) -> "FeatureScorer":
        """Make the network as it is trained: with weights that were restored, or at random."""
        import torch

        from tripleshot.methods.evidence.scoring import FeatureScorer

        torch.manual_seed(self.settings.seed)
        settings, left_out = self.settings, torch.from_numpy(self._left_out)
        if self._trained is None:
            return FeatureScorer(len(self.table), settings.hidden_width, left_out, settings.trust).to(self.device)
        network = self._network()
        module = FeatureScorer(len(self.table), len(network.out), left_out, settings.trust)
        TrainedWeights.of(network.state(), None, self._trained.source).load_into(module, only_own=True)
        return module.to(self.device)

    @property
    def module(self) -> "FeatureScorer":  # pyrefly: ignore
        """The network as it is trained; one that was restored is made when it is first asked for."""
        if self._module is None:
            self._module = self._make_module()
            self._trained = None  # from now on the network has the weights
        return self._module

    def state(self) -> "Mapping[str, npt.NDArray | Tensor]":
        """Return the weights as they are now, by name: arrays as long as nobody has asked for the network."""
        trained = self._trained
        return self.module.state_dict() if trained is None else trained.arrays

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the network of another run, on whatever graph, and fit it to this one, as when nobody trains."""
        self.take_network(start)
        self.fit_to_graph()
        self.settings = replace(self.settings, hidden_width=len(self._network().out))  # a dense graph has made it wider

    def take_network(self, start: Vectors | TrainedWeights) -> None:
        """Take the network of another run, and what features usually are there."""
        assert isinstance(start, TrainedWeights)
        self._trained, self._module = start, None
        self._network()  # refuses weights that do not fit
        self.is_started = True

    def share_network(self, module: "FeatureScorer") -> None:
        """Use the network of another part of a mixture."""
        self._trained, self._module = None, module

    def stages(self) -> list[Stage]:
        """Tell the network what features usually are, unless it knows, and return its one stage."""
        self.make_sampler()
        stage = self.stage("evidence", self._losses, validates=bool(self.dataset.valid))
        if self.is_started:
            return [replace(stage, learning_rate=self.settings.fine_tuning_rate, validates_first=stage.validates)]
        drawn, *_ = self.draw(np.random.default_rng(self.settings.seed), NUM_SAMPLED)
        self.module.standardize(drawn.flatten(0, -2))
        return [stage]

    def make_sampler(self) -> None:
        """Collect the relations that episodes are drawn from."""
        settings = self.settings
        self._sampler = EpisodeSampler(
            self.dataset,
            1 if settings.max_shots else self.shots,
            settings.batch_size // settings.relations_per_step,
            settings.num_negatives,
            settings.regime,
            settings.background_share,
        )

    def draw(self, rng: np.random.Generator, num_relations: int) -> "tuple[Tensor, Tensor, Tensor]":
        """Draw episodes.

        Returns:
            features: of their true and wrong tails, shape (num_relations, B, 1 + n, number of features).
            trust: shape (num_relations, number of features), how far each feature can be trusted for each relation.
            weights: shape (num_relations,), how many candidates each wrong tail stands for.
        """
        import torch

        mixed = self.settings.max_shots, self.settings.among_all_share
        episodes = [self._sampler.draw_mixed(rng, *mixed) for _ in range(num_relations)]
        features = self.index.episode_features(self.table, episodes, torch.get_num_threads())
        trust = self.trust.of_episodes(episodes, rng, torch.get_num_threads())
        weights = torch.tensor([episode.weight for episode in episodes], device=self.device)
        return torch.from_numpy(features).to(self.device), torch.from_numpy(trust).to(self.device), weights

    def _losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Tell true tails from wrong ones."""
        return {"evidence": self.loss(*self.draw(rng, self.settings.relations_per_step))}

    def loss(self, features: "Tensor", trust: "Tensor", weights: "Tensor") -> "Tensor":
        """Return how far the network is from telling true tails from wrong ones with some of the evidence left out."""
        import torch

        from tripleshot.methods.evidence.listwise import evidence_loss

        without = torch.rand(features.shape[-1], device=features.device) < self.settings.evidence_dropout
        return evidence_loss(self.module, features, trust, without, weights, self.index.kernel is not None)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by what speaks for each, a bounded number at a time."""
        scorer = self._scorers.get(support, lambda: self._make_scorer(self._read(support), self._network()))
        found = [scorer(head, batch) for batch in in_batches(tails, MAX_PAIRS)]
        return np.concatenate([np.empty(0, dtype=np.float32), *found])

    def _make_scorer(self, examples: Examples, network: NetworkWeights) -> ScoreTails:
        """Return what scores the tails of a head: the kernel, or the network on all features."""
        kernel, trust = self.index.kernel, self.trust.of_examples(examples.support, examples.hidden)
        if not self.is_on_cpu:
            return lambda head, tails: self._score_on_device(self._features(examples, head, tails), trust)
        network = network.for_relation(trust)
        if kernel is None or self.settings.text:
            return lambda head, tails: network.score(self._features(examples, head, tails))
        return QuestionScorer(self.index, kernel, self.table, network, examples).score

    def scorer_without(self, relation: str, support: IntArray) -> ScoreTails:
        """Return what scores the tails of a head for some examples, with nothing known of a relation of the graph.

        Its edges are not seen. Weights that were fitted to the graph are those of a fit without this relation, because
        a relation that they were fitted to is easier than a new one.
        """
        number, halves = int(self.graph.relations.find([relation])[0]), self._halves
        network = halves.without(number) if halves is not None and halves.fitted is self._trained else None
        return self._make_scorer(self.index.read_examples(support, HiddenEdges.of(number)), network or self._network())

    def _network(self) -> NetworkWeights:
        """Return the weights as they are now, as arrays."""
        weights = self._trained or TrainedWeights.of(self.state(), None, "the network")
        return NetworkWeights.of(weights.arrays, self._left_out, weights.source)

    def _score_on_device(self, features: npt.NDArray[np.float32], trust: npt.NDArray[np.float32]) -> FloatArray:
        import torch

        with torch.inference_mode():
            seen, trusted = (torch.from_numpy(values).to(self.device) for values in (features, trust))
            return self.module(seen, trust=trusted).cpu().numpy()

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        self._scorers.clear()

    def features(self, support: IntArray, head: int, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return the features of tails, shape (n, number of features)."""
        return self._features(self._read(support), head, tails)

    def _features(self, examples: Examples, head: int, tails: IntArray) -> npt.NDArray[np.float32]:
        return self.index.compute_features(self.table, examples, TailsByHead.of(head, tails))

    def _read(self, support: IntArray) -> Examples:
        """Look at examples once for all queries."""
        return self._examples.get(support, lambda: self.index.read_examples(support))

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; they know no names and serve any dataset."""
        self._index(dataset, 0)
        self._trained, self._module = weights, None
        self._network()  # refuses weights that do not fit

    def fingerprint(self) -> str:
        """Return a hash of all that answers follow from: triples, tasks and weights."""
        weights = self._network().state().values()
        return hash_arrays(self.dataset.content_hash, self.graph.triples_hash, *weights)

    def fit_to_graph(self) -> None:
        """Fit the weights to the relations of the graph, within seconds and once; `graph_fitting` says how and why."""
        start = self._network()

        def fit() -> list[dict[str, npt.NDArray]]:
            fitted = fit_to_own_relations(start, self.index, self.table, self.dataset)
            return [fitted.columns]

        found = keep(lambda: hash_arrays(self.fingerprint(), fitting_code()), "fitted-weights", NUM_PAIRS, fit)
        fitted = start.with_columns({name: np.array(found[name]) for name in start.columns})  # training writes to them
        self._trained, self._module = TrainedWeights.of(fitted.state(), None, "the fitted weights"), None
        self._halves = FittedHalves(self._trained, start, self.index, self.table, self.dataset)
        self.clear_cache()

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name what speaks for and against a tail, each kind of evidence once; the weights add up to the score."""
        features = self.features(support, head, np.array([tail]))[0]
        kinds = [kind for kind in self.table.groups if kind != TYPE or self.graph.types is not None]
        groups = np.stack([self.table.columns_of(kind) for kind in kinds])
        network = self._network().for_relation(self.trust.of_examples(support))
        added, rest = network.contributions(features, groups)
        weights = dict(zip(kinds, added, strict=True))
        reasons = describe_evidence(self.index, self._read(support), head, tail, weights)
        return [*reasons, Reason(START, "where every answer to this question starts", rest)]
