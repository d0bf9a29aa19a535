"""Training-free evidence: degree, support frequency, links, and relation paths that the examples share.

These take seconds, explain themselves, and are the floor that any neural model has to beat: on NELL-One one third of
the test answers are already joined to the query's head by some background edge.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray, lookup
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.caching import SupportCache
from tripleshot.methods.evidence.path_rules import PathRules, mine_path_rules, path_scores
from tripleshot.methods.evidence.reasons import (
    degree_text,
    examples_of,
    find_links,
    find_paths,
    joining_rules,
    link_text,
    path_text,
    support_text,
)
from tripleshot.methods.protocol import Reason


def degree_share(graph: KnowledgeGraph, tails: IntArray) -> npt.NDArray[np.float64]:
    """Return the degree of each tail as a share below one: it decides between otherwise equal tails."""
    return graph.degrees[tails] / (graph.degrees.max(initial=0) + 1)


def support_share(support: IntArray, tails: IntArray) -> npt.NDArray[np.float64]:
    """Return the share of examples that have each tail."""
    known, counts = np.unique(support[:, 1], return_counts=True)
    places, found = lookup(known, tails)
    return np.where(found, counts[places], 0) / len(support)


def is_linked(graph: KnowledgeGraph, head: int, tails: IntArray) -> npt.NDArray[np.bool_]:
    """Tell which tails are joined to the head by some background edge, in either direction."""
    return np.isin(tails, graph.adjacency.edges(head)[1])


@dataclass(frozen=True)
class EvidenceWeights:
    """How much each kind of evidence counts in a sum; 0 leaves it out.

    Attributes:
        link: of an edge between head and tail, however many there are.
        support: of a tail that all examples have; one that some have gets their share of it.
        path: of the rules' own weights.
        degree: of the degree as a share.
    """

    link: float = 0.0
    support: float = 0.0
    path: float = 0.0
    degree: float = 0.0


@dataclass
class EvidenceSum(ABC):
    """Adds up what the background graph and the examples say for a tail; a subclass says how much each kind counts.

    Attributes:
        train_edges: show the triples of train tasks as edges, too.
        graph: what it looks at.
    """

    train_edges: bool = False
    graph: KnowledgeGraph = field(init=False, repr=False)
    _rules: SupportCache[PathRules] = field(init=False, default_factory=SupportCache, repr=False)

    @abstractmethod
    def weights(self, num_examples: int) -> EvidenceWeights:
        """Return what each kind of evidence counts."""

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Remember the background graph, perhaps with the train tasks."""
        self.graph = (dataset.with_train_edges if self.train_edges else dataset).graph
        self._rules = SupportCache()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Add up what speaks for each tail."""
        weights = self.weights(len(support))
        scores = np.zeros(len(tails))
        if weights.link:
            scores += weights.link * is_linked(self.graph, head, tails)
        if weights.support:
            scores += weights.support * support_share(support, tails)
        if weights.path:
            scores += weights.path * path_scores(self.graph, self._rules_of(support), head, tails)
        return scores + weights.degree * degree_share(self.graph, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name the links, the paths and the examples that speak for a tail, and its degree."""
        graph, weights, reasons = self.graph, self.weights(len(support)), []
        if weights.link and (links := find_links(graph, head, tail)):
            reasons.append(Reason("link", link_text(graph, links), weights.link, links))
        if weights.support and (examples := examples_of(support, tail)):
            share = len(examples) / len(support)
            reasons.append(Reason("support", support_text(graph, examples), weights.support * share, (), examples))
        if weights.path:
            for path_type, weight in joining_rules(graph, self._rules_of(support), head, tail):
                paths = find_paths(graph, path_type, head, tail)
                reasons.append(Reason("path", path_text(graph, [path_type]), weights.path * weight, paths))
        share = float(degree_share(graph, np.array([tail]))[0])
        reasons.append(Reason("degree", degree_text(graph, tail), weights.degree * share))
        return sorted(reasons, key=lambda reason: -reason.weight)

    def _rules_of(self, support: IntArray) -> PathRules:
        """Mine once for all queries of a relation."""
        return self._rules.get(support, lambda: mine_path_rules(self.graph, support))


@dataclass
class Degree(EvidenceSum):
    """Entities with more edges first, whatever is asked."""

    def weights(self, num_examples: int) -> EvidenceWeights:
        """Count nothing but the degree."""
        return EvidenceWeights(degree=1.0)


@dataclass
class SupportFrequency(EvidenceSum):
    """Tails of the examples first, more frequent ones before others; then by degree."""

    def weights(self, num_examples: int) -> EvidenceWeights:
        """Let one example outweigh every degree."""
        return EvidenceWeights(support=num_examples, degree=1.0)


@dataclass
class Linked(EvidenceSum):
    """Entities linked to the head first, then tails of the examples by frequency, then by degree."""

    def weights(self, num_examples: int) -> EvidenceWeights:
        """Let a link outweigh all examples, and one example every degree."""
        return EvidenceWeights(link=num_examples + 1, support=num_examples, degree=1.0)


@dataclass
class Evidence(EvidenceSum):
    """Links, relation paths mined from the examples, and support frequency, added up."""

    link_weight: float = 1.0
    support_weight: float = 1.0
    degree_weight: float = 0.01

    def weights(self, num_examples: int) -> EvidenceWeights:
        """Count a link like a tail that all examples have; rules have weights of their own."""
        return EvidenceWeights(self.link_weight, self.support_weight, 1.0, self.degree_weight)
