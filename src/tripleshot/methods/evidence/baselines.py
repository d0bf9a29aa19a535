"""Training-free evidence: degree, support frequency, links, and relation paths that the examples share.

These take seconds, explain themselves, and are the floor that any neural model has to beat: on NELL-One one third of
the test answers are already joined to the query's head by some background edge.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray, IntArray, lookup
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.evidence.path_rules import PathRules, PathTypes, mine_path_rules, path_scores, walk
from tripleshot.methods.protocol import Reason


def degree_share(graph: KnowledgeGraph, tails: IntArray) -> npt.NDArray[np.float64]:
    """Return the degree of each tail as a share below one: the last word between otherwise equal tails."""
    return graph.degrees[tails] / (graph.degrees.max(initial=0) + 1)


def support_share(support: IntArray, tails: IntArray) -> npt.NDArray[np.float64]:
    """Return the share of examples that have each tail."""
    known, counts = np.unique(support[:, 1], return_counts=True)
    places, found = lookup(known, tails)
    return np.where(found, counts[places], 0) / len(support)


def is_linked(graph: KnowledgeGraph, head: int, tails: IntArray) -> npt.NDArray[np.bool_]:
    """Tell which tails are joined to the head by some background edge, in either direction."""
    return np.isin(tails, graph.adjacency.edges(head)[1])


@dataclass
class Degree:
    """Entities with more edges first, whatever is asked."""

    graph: KnowledgeGraph = field(init=False)

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Remember the background graph."""
        self.graph = dataset.graph

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score by degree."""
        return degree_share(self.graph, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name the degree."""
        return [degree_reason(self.graph, tail)]


@dataclass
class SupportFrequency:
    """Tails of the examples first, the commoner the better; then by degree."""

    graph: KnowledgeGraph = field(init=False)

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Remember the background graph."""
        self.graph = dataset.graph

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score by how many examples have the tail, then by degree."""
        return len(support) * support_share(support, tails) + degree_share(self.graph, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name the examples with this tail, and the degree."""
        return [*support_reasons(self.graph, support, tail), degree_reason(self.graph, tail)]


@dataclass
class Linked:
    """Entities linked to the head first, then tails of the examples by frequency, then by degree."""

    graph: KnowledgeGraph = field(init=False)

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Remember the background graph."""
        self.graph = dataset.graph

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score so that a link outweighs every example, and an example every degree."""
        linked = self._link_weight(support) * is_linked(self.graph, head, tails)
        return linked + len(support) * support_share(support, tails) + degree_share(self.graph, tails)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name the links, the examples with this tail, and the degree."""
        links = link_reasons(self.graph, head, tail, self._link_weight(support))
        return [*links, *support_reasons(self.graph, support, tail), degree_reason(self.graph, tail)]

    def _link_weight(self, support: IntArray) -> float:
        return len(support) + 1.0


@dataclass
class Evidence:
    """Links, relation paths mined from the examples, and support frequency, added up."""

    link_weight: float = 1.0
    support_weight: float = 1.0
    degree_weight: float = 0.01

    graph: KnowledgeGraph = field(init=False)
    _mined: tuple[bytes, PathRules] | None = field(init=False, default=None, repr=False)

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Remember the background graph."""
        self.graph = dataset.graph
        self._mined = None

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Add up what speaks for each tail."""
        return (
            self.link_weight * is_linked(self.graph, head, tails)
            + self.support_weight * support_share(support, tails)
            + path_scores(self.graph, self._rules(support), head, tails)
            + self.degree_weight * degree_share(self.graph, tails)
        )

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Name every link, path and example that speaks for a tail, the weightiest first."""
        reasons = [
            *link_reasons(self.graph, head, tail, self.link_weight),
            *support_reasons(self.graph, support, tail, self.support_weight / len(support)),
            *path_reasons(self.graph, self._rules(support), head, tail),
            degree_reason(self.graph, tail, self.degree_weight),
        ]
        return sorted(reasons, key=lambda reason: -reason.weight)

    def _rules(self, support: IntArray) -> PathRules:
        """Mine once for all queries of a relation."""
        key, known = np.ascontiguousarray(support).tobytes(), self._mined  # another thread may replace it meanwhile
        if known is None or known[0] != key:
            self._mined = known = key, mine_path_rules(self.graph, support)
        return known[1]


def path_reasons(graph: KnowledgeGraph, rules: PathRules, head: int, tail: int) -> list[Reason]:
    """Name the paths that lead from the head to the tail and that examples share."""
    walks = walk(graph, head, rules.path_types)
    places = np.searchsorted(rules.path_types, walks.path_types[walks.ends == tail])
    return [
        Reason("path", _path_text(graph, int(rules.path_types[place])), float(rules.weights[place])) for place in places
    ]


def _path_text(graph: KnowledgeGraph, path_type: int) -> str:
    steps = (_step_text(graph, step) for step in PathTypes.of(graph).decode(path_type))
    return "examples share the path: " + ", then ".join(steps)


def _step_text(graph: KnowledgeGraph, relation: int) -> str:
    return f"“{graph.relations.label(graph.base(relation))}”" + " backwards" * graph.is_inverse(relation)


def link_reasons(graph: KnowledgeGraph, head: int, tail: int, weight: float) -> list[Reason]:
    """Name each edge between the two; they share the weight."""
    relations, entities = graph.adjacency.edges(head)
    links = relations[entities == tail]
    return [Reason("link", _edge_text(graph, head, int(link), tail), weight / len(links)) for link in links]


def _edge_text(graph: KnowledgeGraph, head: int, relation: int, tail: int) -> str:
    if graph.is_inverse(relation):
        return _edge_text(graph, tail, graph.inverse(relation), head)
    first, last = graph.entities.label(head), graph.entities.label(tail)
    return f"the graph says: {first} “{graph.relation_label(relation)}” {last}"


def support_reasons(graph: KnowledgeGraph, support: IntArray, tail: int, weight: float = 1.0) -> list[Reason]:
    """Name the examples with this tail."""
    heads = support[support[:, 1] == tail, 0]
    return [Reason("support", f"the example {graph.entities.label(head)} has this answer", weight) for head in heads]


def degree_reason(graph: KnowledgeGraph, tail: int, weight: float = 1.0) -> Reason:
    """Name the degree."""
    share = float(degree_share(graph, np.array([tail]))[0])
    return Reason("degree", f"{graph.entities.label(tail)} has {graph.degrees[tail]:,} edges", weight * share)
