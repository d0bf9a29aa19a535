"""Relation paths of one or two steps that join the examples of a relation, and how far each can be trusted.

A path type such as (plays for, league of) is a rule: from a head, walk along it, and every entity reached is a
prediction. Its confidence is counted on the examples alone. A path type travels as one number, see `PathTypes`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import CommonNeighbors, PairIndex

MAX_MIDDLE_DEGREE = 2000  # a hub joins everything to everything
MAX_WALKS = 5_000_000  # bounds the memory of one start to some 200 MB, on any graph
TINY = 1e-12  # instead of nothing to divide by
SMOOTHING = 2.0  # a rule seen once is not yet certain

CountReached = Callable[[npt.NDArray[np.int64], IntArray], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class PathTypes:
    """Numbers path types: first relation * base + second relation + 1, with 0 for no second step."""

    base: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> "PathTypes":
        """Number the path types of a graph over its relations and their inverses."""
        return cls(2 * graph.num_relations + 1)

    def encode(self, first: IntArray, second: IntArray | int = -1) -> npt.NDArray[np.int64]:
        """Return the number of each path type; a second relation of -1 means there is no second step."""
        return first.astype(np.int64) * self.base + second + 1

    def decode(self, path_type: int) -> tuple[int, ...]:
        """Return the one or two relations of a path type."""
        first, second = divmod(path_type, self.base)
        return (first,) if second == 0 else (first, second - 1)


@dataclass(frozen=True, eq=False)
class JoiningPaths:
    """Path types that join the head and tail of pairs; one that does so in several ways may stand there several times.

    Attributes:
        owners: shape (n,), which pair.
        path_types: shape (n,).
    """

    owners: npt.NDArray[np.int64]
    path_types: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PathRules:
    """Path types that join at least one example.

    Attributes:
        path_types: shape (n,), sorted.
        confidence: shape (n,), examples joined / (entities reached from their heads + smoothing).
    """

    path_types: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """What a tail earns for each rule that reaches it: -log(1 - confidence), so that evidence adds up."""
        return -np.log1p(-self.confidence)

    @cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        """How often each rule is drawn, if it is drawn by its weight."""
        return self.weights / max(self.weights.sum(), TINY)

    def weigh(self, joining: JoiningPaths, num_pairs: int) -> npt.NDArray[np.float64]:
        """Add up, for each pair, the weights of the rules that join it, each once: shape (num_pairs,)."""
        num_rules = len(self.path_types)
        if not num_rules:
            return np.zeros(num_pairs)
        places, is_rule = lookup(self.path_types, joining.path_types)
        once = np.unique(joining.owners[is_rule] * num_rules + places[is_rule])
        owners, places = np.divmod(once, num_rules)
        return np.bincount(owners, self.weights[places], minlength=num_pairs).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Walks:
    """Where walks from one entity end, each path type and end once.

    Attributes:
        path_types: shape (n,), sorted.
        ends: shape (n,), the entity reached.
    """

    path_types: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def walk(
    graph: KnowledgeGraph,
    start: int,
    wanted: npt.NDArray[np.int64] | None = None,
    hidden: HiddenEdges = HiddenEdges.none(),
) -> Walks:
    """Take all walks of one and two steps from an entity, or only those of the wanted path types.

    A hidden relation is not walked along. Middle entities with more than `MAX_MIDDLE_DEGREE` edges are not walked
    through, and of more than `MAX_WALKS` walks the first in file order are taken.
    """
    adjacency, types = graph.adjacency, PathTypes.of(graph)
    relations, middles = adjacency.edges(start)
    if wanted is not None:
        useful = np.isin(relations, wanted // types.base)
        relations, middles = relations[useful], middles[useful]
    degrees = graph.degrees[middles]
    passable = degrees <= MAX_MIDDLE_DEGREE
    passable &= np.cumsum(degrees * passable) <= MAX_WALKS
    positions, owners = arrays.expand(adjacency.offsets, middles[passable])
    path_types = np.concatenate(
        [types.encode(relations), types.encode(relations[passable][owners], adjacency.relations[positions])]
    )
    ends = np.concatenate([middles, adjacency.entities[positions]]).astype(np.int64)
    kept = ends != start
    if (unseen := hidden.relation) is not None:
        first, second = np.divmod(path_types, types.base)
        kept &= (graph.base(first) != unseen) & ((second == 0) | (graph.base(second - 1) != unseen))
    if wanted is not None:
        kept &= np.isin(path_types, wanted)
    return Walks(*np.divmod(np.unique(path_types[kept] * graph.num_entities + ends[kept]), graph.num_entities))


def find_joining_paths(
    index: PairIndex,
    links: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    common: CommonNeighbors,
    hidden: HiddenEdges,
) -> JoiningPaths:
    """Return the path types that join pairs, by an index instead of by walks from every head.

    Args:
        index: of the graph.
        links: the edges between the members of each pair, as `PairIndex.links` returns them.
        common: the entities next to both members; those with more than `MAX_MIDDLE_DEGREE` edges join nothing.
        hidden: edges that are not seen.
    """
    types, (linked, relations) = PathTypes.of(index.graph), links
    kept = index.graph.degrees[common.middles] <= MAX_MIDDLE_DEGREE
    owners, first, second = index.paths(common.take(kept), hidden)
    return JoiningPaths(
        np.concatenate([linked, owners]), np.concatenate([types.encode(relations), types.encode(first, second)])
    )


def mine_path_rules(
    graph: KnowledgeGraph,
    support: IntArray,
    hidden: HiddenEdges = HiddenEdges.none(),
    joining: JoiningPaths | None = None,
    count_reached: CountReached | None = None,
) -> PathRules:
    """Collect every path type that joins some example's head to its tail, and count how often it is right.

    Args:
        graph: to walk on.
        support: shape (K, 2), the examples.
        hidden: edges that are not seen.
        joining: the path types that join the examples, from `find_joining_paths`; walks that cannot be a rule are then
            left out. None finds them by all walks from the heads, which needs no index.
        count_reached: counts, for each path type, the entities that it leads to from the heads, faster than by walks.

    A path that leads back to where it began is no hit, because no walk counts its start as reached. So a path type has
    at most as many hits as entities that it reaches, and a confidence is below 1 whatever the graph.
    """
    heads, tails = support[:, 0].tolist(), support[:, 1].tolist()
    walks: list[Walks] | None = None
    if joining is None:
        walks = [walk(graph, head, hidden=hidden) for head in heads]
        once = np.concatenate([found.path_types[found.ends == tail] for found, tail in zip(walks, tails, strict=True)])
    else:
        leads_on = support[joining.owners, 0] != support[joining.owners, 1]
        joined = joining.path_types[leads_on] * len(heads) + joining.owners[leads_on]
        once = np.unique(joined) // len(heads)
    rules, hits = np.unique(once, return_counts=True)
    if walks is None and count_reached is not None:
        num_reached = count_reached(rules, support[:, 0])
    else:
        walks = walks or [walk(graph, head, rules, hidden) for head in heads]
        places, is_rule = lookup(rules, np.concatenate([found.path_types for found in walks]))
        num_reached = np.bincount(places[is_rule], minlength=len(rules))
    at_least = np.maximum(num_reached, hits)  # of more than `MAX_WALKS` walks not all are counted
    return PathRules(rules, hits / (at_least + SMOOTHING))


def path_scores(graph: KnowledgeGraph, rules: PathRules, head: int, tails: IntArray) -> npt.NDArray[np.float64]:
    """Sum, for each tail, the weights of the rules whose walks from the head reach it."""
    if not len(rules.path_types) or not len(tails):
        return np.zeros(len(tails))
    walks = walk(graph, head, rules.path_types)
    asked, inverse = np.unique(tails, return_inverse=True)
    places, reached = lookup(asked, walks.ends)
    joining = JoiningPaths(places[reached], walks.path_types[reached])
    return rules.weigh(joining, len(asked))[inverse]
