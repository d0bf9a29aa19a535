"""Weights that serve any graph, fitted to one of them within seconds, before its first answer.

Graphs differ in what counts: a common neighbor says much where there are few edges, and nothing where everybody is
joined to everybody. The relations of a graph say what counts there. Each is asked about as if it were new, with its
edges hidden, and the weights follow for a few steps from where they are. A step is as long as what is usual on the
graph makes it: features that hardly differ elsewhere may be what counts here. A graph with few relations says little,
so there are fewer steps, and none where there are hardly any; one with hundreds has more to say, and gets more. What is
drawn depends on the graph and the seed alone, and so do the weights.

On some graphs a second network that starts from nothing learns from the same episodes, again and again. On a dense
graph, which is unlike most, it has the larger share of a score: what other graphs have taught stands in the way there.
On a graph with hundreds of relations, which say much about what counts there alone, it has the smaller share.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, hash_arrays
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import Episode, EpisodeSampler
from tripleshot.datasets.own_relations import MAX_RELATIONS, MIN_RELATIONS, sample_relations
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.native.network import learn
from tripleshot.methods.evidence.network_weights import Array, Layers, NetworkWeights
from tripleshot.methods.evidence.plain_learning import learn_plainly
from tripleshot.methods.evidence.trust import TrustMeter
from tripleshot.methods.trainable import TrainedWeights

Learning = Callable[[Array, Layers, Array], tuple[float, Layers]]
"""Returns the loss of episodes and its gradient by both layers of a network."""

SEED = 0
USUAL_STEPS, MAX_STEPS = 150, 1000
MAX_PER_RELATION = 10  # steps: few relations say little
MANY_RELATIONS, PER_FURTHER_RELATION = 100, 6  # and many have more to say: steps for each beyond so many
DENSE = 20  # edges of an entity, on average
OWN_WIDTH = 48  # of the network that starts from nothing
SHARE_WHERE_DENSE, SHARE_WHERE_MANY = 2 / 3, 1 / 3  # what it counts beside the other, by why it is there
OWN_STEPS, OWN_DROPOUT = 2400, 0.1  # it has all to learn, but not by heart: in each step it misses some features
MAX_KEPT = 200  # steps whose episodes are kept for it: it learns from each several times
ENOUGH_RELATIONS = USUAL_STEPS // MAX_PER_RELATION  # to learn from them alone
MAX_STEPS_OF_HALVES = 100  # enough to see how sure to be, unless the fit itself is longer
SHARE_OF_HALVES = 2 / 3  # of the steps of the fit: scores grow with them, and so does what they say
EPISODES, QUERIES, NEGATIVES = 8, 8, 128  # of a step, of an episode, of a query
NUM_PAIRS = MAX_STEPS * EPISODES * QUERIES * (1 + NEGATIVES)  # looked at: what a fit costs, on a graph of any size
SAMPLED = 8  # steps whose features say what is usual on the graph
MAX_SHOTS = 10
AMONG_ALL = 0.3  # share of episodes whose wrong answers are any entities
RATE, WARMUP, LAST_RATE = 3e-3, 10, 0.05  # the learning rate, steps that it rises over, and the share of it at the end
MOMENTUM, SMOOTHING, CLIP, TINY = 0.9, 0.999, 5.0, 1e-8
MAX_THREADS = 4


def fit_to_own_relations(
    network: NetworkWeights,
    index: EvidenceIndex,
    table: FeatureTable,
    dataset: FewShotDataset,
    without: Sequence[str] = (),
    max_steps: int = MAX_STEPS,
) -> NetworkWeights:
    """Return the weights, fitted to the train tasks of a dataset and to other relations of its graph, half to each.

    How they follow what can be trusted stays as it is: that is much the same on every graph, and a small graph would
    teach it wrongly.

    Args:
        network: where the weights start.
        index: of the graph.
        table: the features that the network looks at.
        dataset: whose graph is indexed; its train tasks are like what will be asked.
        without: names of relations that the weights must know nothing of.
        max_steps: how far the weights may go from where they are.
    """
    left_out = set(without)
    train = tuple(task for task in dataset.train if task.name not in left_out)
    names = [*without, *(task.name for task in train)]
    background = sample_relations(dataset.graph, np.random.default_rng(SEED), without=names)
    num_relations = sum(len(task.pairs) > 1 for task in (*train, *background))
    if num_relations < MIN_RELATIONS:
        return network
    steps = min(max_steps, count_steps(num_relations))
    known = replace(dataset, train=train)
    sampler = EpisodeSampler(known, 1, QUERIES, NEGATIVES, "in-train", background=background)
    rng, threads = np.random.default_rng(SEED), min(MAX_THREADS, os.cpu_count() or 1)

    def draw() -> tuple[list[Episode], Array]:
        episodes = [sampler.draw_mixed(rng, MAX_SHOTS, AMONG_ALL) for _ in range(EPISODES)]
        return episodes, index.episode_features(table, episodes, threads)

    meter = TrustMeter(index, table, network.follows_trust)
    learning = learn_plainly if index.kernel is None else partial(learn, num_threads=threads)

    network = network.standardized(np.concatenate([draw()[1].reshape(-1, len(table)) for _ in range(SAMPLED)]))
    fitted = _Learner(network, steps)
    share = share_from_nothing(num_relations, float(dataset.graph.degrees.mean()))
    kept: list[_Drawn] = []
    for _ in range(steps if not share else max(steps, MAX_KEPT * steps // count_steps(num_relations))):
        episodes, features = draw()
        offsets = np.log([episode.weight for episode in episodes]).astype(np.float32)
        trust = meter.of_episodes(episodes, rng, threads)
        if fitted.count < steps:
            fitted.follow(_gradient(fitted.network, features, trust, offsets, learning))
        if share and len(kept) < MAX_KEPT:
            kept.append(_Drawn(features.astype(np.float16), trust, offsets))
    if not share:
        return fitted.network
    own = _Learner(network.untrained(OWN_WIDTH, rng), OWN_STEPS * steps // count_steps(num_relations))
    while own.count < own.steps:
        drawn = kept[own.count % len(kept)]
        seeing_less = own.network.without(rng.random(len(table)) < OWN_DROPOUT)
        own.follow(_gradient(seeing_less, drawn.features.astype(np.float32), drawn.trust, drawn.offsets, learning))
    return fitted.network.joined(own.network, share)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Episodes of a step, to be learned from again; in half precision, because there are many.

    Attributes:
        features: of their true and wrong tails, shape (episodes, queries, 1 + negatives, number of features).
        trust: shape (episodes, number of features).
        offsets: shape (episodes,), logarithms of how many candidates each wrong tail stands for.
    """

    features: npt.NDArray[np.float16]
    trust: Array
    offsets: Array


def count_steps(num_relations: int) -> int:
    """Return how many steps a fit to so many relations has."""
    usual = min(USUAL_STEPS, MAX_PER_RELATION * num_relations)
    return min(MAX_STEPS, usual + PER_FURTHER_RELATION * max(0, num_relations - MANY_RELATIONS))


def share_from_nothing(num_relations: int, mean_degree: float) -> float:
    """Return what a network that starts from nothing counts on a graph, beside that which other graphs have taught."""
    if num_relations >= ENOUGH_RELATIONS and mean_degree >= DENSE:
        return SHARE_WHERE_DENSE
    return SHARE_WHERE_MANY if num_relations > MANY_RELATIONS else 0.0


def _gradient(network: NetworkWeights, features: Array, trust: Array, offsets: Array, learning: Learning) -> Array:
    """Return the mean gradient over episodes, each by the network as it weighs evidence for its relation."""
    if not network.follows_trust:
        return network.gradient(learning(features, (*network.first_layer(), network.out), offsets)[1])
    found = []
    for place, one in enumerate(trust):
        own, rows = network.for_relation(one), slice(place, place + 1)
        learned = learning(features[rows], (*own.first_layer(), own.out), offsets[rows])
        found.append(network.gradient(learned[1]))
    return np.mean(found, axis=0)


@cache
def fitting_code() -> str:
    """Return a hash of the code that measures evidence and fits weights: what other code has fitted is fitted anew."""
    files = (file for file in sorted(Path(__file__).parent.rglob("*")) if file.suffix in (".py", ".c", ".h"))
    return hash_arrays(*(file.read_text(encoding="utf-8") for file in files))


@dataclass(eq=False)
class FittedHalves:
    """The weights that a graph would have if it lacked half of its relations, to ask about these as if they were new.

    Attributes:
        fitted: the weights that know all relations.
        start: where all of them started.
        index: of the graph.
        table: the features that the network looks at.
        dataset: whose graph is indexed.
    """

    fitted: TrainedWeights
    start: NetworkWeights
    index: EvidenceIndex
    table: FeatureTable
    dataset: FewShotDataset
    _found: dict[int, NetworkWeights | None] = field(init=False, default_factory=dict)
    _lock: Lock = field(init=False, default_factory=Lock)

    def without(self, relation: int) -> NetworkWeights | None:
        """Return weights that know nothing of a relation, fitted when first asked for; None if too few others are left.

        Its half has every second relation.
        """
        half = relation % 2
        with self._lock:
            if half not in self._found:
                names = self.dataset.graph.relations.names.to_pylist()[half::2]
                num_relations = min(self.dataset.graph.num_relations, MAX_RELATIONS + len(self.dataset.train))
                steps = max(MAX_STEPS_OF_HALVES, int(SHARE_OF_HALVES * count_steps(num_relations)))
                found = fit_to_own_relations(self.start, self.index, self.table, self.dataset, names, max_steps=steps)
                self._found[half] = None if found is self.start else found
            return self._found[half]


class _Learner:
    """A network that follows gradients of bounded length by Adam (Kingma and Ba, 2015), at a rate that falls."""

    def __init__(self, network: NetworkWeights, steps: int) -> None:
        self.network, self.steps = network, steps
        self._mean, self._square, self.count = np.zeros(1), np.zeros(1), 0

    def follow(self, gradient: Array) -> None:
        """Take one of the steps."""
        rate = RATE * min(1.0, (self.count + 1) / WARMUP) * max(LAST_RATE, 1 - self.count / self.steps)
        self.network = self.network.with_values(self.network.values - rate * self._direction(gradient))

    def _direction(self, gradient: Array) -> FloatArray:
        bounded = gradient * min(1.0, CLIP / max(float(np.linalg.norm(gradient)), TINY))
        self.count += 1
        self._mean = MOMENTUM * self._mean + (1 - MOMENTUM) * bounded
        self._square = SMOOTHING * self._square + (1 - SMOOTHING) * bounded**2
        mean, square = self._mean / (1 - MOMENTUM**self.count), self._square / (1 - SMOOTHING**self.count)
        return mean / (np.sqrt(square) + TINY)
