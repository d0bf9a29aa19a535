"""Rules of three steps, weighed by the probability of a random walk, as the path ranking algorithm does it.

A path type of three relations, inverses among them, is a rule: from a head, take an edge of the first relation at
random, then one of the second and one of the third. A walk is as probable as the product of 1 / (edges of the relation)
along its steps (Lao and Cohen, Relational retrieval using a combination of path-constrained random walks, 2010). A rule
is drawn as often as its walks lead from the examples' heads to their tails, so what rules say of a tail is a
probability, too, and means the same on any graph and with any number of examples.

Walks pass four different entities, and no hub on their way. One that is less probable than 1 / `MAX_ENDS` says nothing
and is left out. What a rule reaches from a head adds up to one, so no rule has more than `MAX_ENDS` walks to follow.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection, PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, TINY

MAX_RULES = 64  # of the largest masses
MAX_ENDS = 1000  # what is less probable than one of so many says nothing
MAX_VISITS = 4000  # neighbors that are looked at between the ends of an example
MAX_MINED = 1000  # of more walks between them, every k-th is taken

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Masses = tuple[Integers, Floats]
"""Path types, and how probable it is that a walk leads from the head of an example to its tail, for one walk each."""


@dataclass(frozen=True, eq=False)
class WalkRules:
    """Path types of three steps that join at least one example.

    Attributes:
        path_types: shape (n,), sorted; (first * width + second) * width + third of the relations and their inverses.
        masses: shape (n,), how probable it is that walks lead from head to tail, added up over the examples.
    """

    path_types: Integers
    masses: Floats

    @cached_property
    def shares(self) -> Floats:
        """How often each rule is drawn."""
        return self.masses / max(self.masses.sum(), TINY)

    def steps(self, graph: KnowledgeGraph) -> tuple[Integers, Integers, Integers]:
        """Return the relation of each step, shape (n,) each."""
        width = max(2 * graph.num_relations, 1)
        return self.path_types // width**2, self.path_types // width % width, self.path_types % width


def encode_steps(graph: KnowledgeGraph, steps: Integers) -> Integers:
    """Return the path types of relations, shape (3, n)."""
    width, (first, second, third) = 2 * graph.num_relations, steps
    return (first * width + second) * width + third


@dataclass(frozen=True, eq=False)
class FoundWalks:
    """Where rules lead from heads.

    Attributes:
        owners: shape (n,), which head.
        rules: shape (n,), which rule.
        entities: shape (4, n), from the head to the end.
        shares: shape (n,), how probable the walk is.
        returning: shape (n,), how probable it is from the end to the head.
    """

    owners: Integers
    rules: Integers
    entities: Integers
    shares: Floats
    returning: Floats


class RuleWalks:
    """Finds rules of three steps on one graph, and follows them."""

    def __init__(self, pairs: PairIndex, profiles: RelationProfiles) -> None:
        """Take what is indexed already."""
        self.graph, self.pairs, self.profiles = pairs.graph, pairs, profiles

    def mine(self, support: Integers, hidden: HiddenEdges) -> WalkRules:
        """Collect the path types of three steps that lead from heads to tails of examples, shape (K, 2)."""
        found = [self._walks_between(head, tail, hidden) for head, tail in support.tolist() if head != tail]
        walked = np.concatenate([path_types for path_types, _ in found] or [np.empty(0, np.int64)])
        path_types, places = np.unique(walked, return_inverse=True)
        shares = np.concatenate([shares for _, shares in found] or [np.empty(0)])
        masses = np.bincount(places, shares, minlength=len(path_types)).astype(np.float64)
        largest = np.sort(np.lexsort([path_types, -masses])[:MAX_RULES])
        return WalkRules(path_types[largest], masses[largest])

    def follow(self, rules: WalkRules, heads: Integers) -> FoundWalks:
        """Return all walks of the rules from each head."""
        owners = np.repeat(np.arange(len(heads)), len(rules.path_types))
        which = np.tile(np.arange(len(rules.path_types)), len(heads))
        entities, num_ends, num_starts = heads[owners][None], *np.ones((2, len(owners)), np.int64)
        for number, relations in enumerate(steps := rules.steps(self.graph), 1):
            counts = self.profiles.count(entities[-1], relations[which])
            going = np.flatnonzero((counts > 0) & (num_ends * counts <= MAX_ENDS))
            groups = arrays.find_in_rows(
                self.profiles.offsets, self.profiles.relations, entities[-1, going], relations[which[going]]
            )
            positions, places = arrays.expand(self.profiles.edges.starts, groups)
            places, following = going[places], self.profiles.edges.entities[positions].astype(np.int64)
            kept = (entities[:, places] != following).all(axis=0)
            kept &= (self.graph.degrees[following] <= MAX_MIDDLE_DEGREE) | (number == len(steps))
            places = places[kept]
            owners, which, num_ends = owners[places], which[places], (num_ends * counts)[places]
            entities = np.concatenate([entities[:, places], following[None, kept]])
            num_starts = num_starts[places] * self.profiles.count(entities[-1], self.graph.inverse(relations[which]))
        return FoundWalks(owners, which, entities, 1 / num_ends, 1 / num_starts)

    def weigh(self, rules: WalkRules, heads: Integers, tails: Integers) -> tuple[Floats, Floats]:
        """Return how probable walks along a rule that is drawn are for each pair, there and back: shape (n,)."""
        asked, places = np.unique(heads, return_inverse=True)
        walks = self.follow(rules, asked)
        keys, ends = np.unique(walks.owners * self.graph.num_entities + walks.entities[-1], return_inverse=True)
        met, found = arrays.lookup(keys, places * self.graph.num_entities + tails)
        weighed = np.zeros((2, len(tails)))
        for row, probable in zip(weighed, (walks.shares, walks.returning), strict=True):
            sums = np.bincount(ends, rules.shares[walks.rules] * probable, minlength=len(keys))
            row[found] = sums[met[found]]
        return weighed[0], weighed[1]

    def best_walk(self, rules: WalkRules, head: int, tail: int) -> Connection | None:
        """Return the most probable walk to the tail of the rule of the largest mass, if any rule leads there."""
        walks = self.follow(rules, np.array([head]))
        reaching = np.flatnonzero(walks.entities[-1] == tail)
        if not len(reaching):
            return None
        best = reaching[np.lexsort([-walks.shares[reaching], -rules.masses[walks.rules[reaching]]])[0]]
        steps = tuple(int(relations[walks.rules[best]]) for relations in rules.steps(self.graph))
        return Connection(steps, tuple(walks.entities[:, best].tolist()))

    def _walks_between(self, head: int, tail: int, hidden: HiddenEdges) -> Masses:
        """Return the path types of walks, in order of the entities that they pass, and how probable each walk is."""
        rows, passed = self._ways_between(head, tail)
        edges = self.pairs.edges
        seconds, thirds = (edges[row + 1] - edges[row] for row in rows[1:])
        sizes = (edges[rows[0] + 1] - edges[rows[0]]) * seconds * thirds
        ends = np.cumsum(sizes)
        total = int(sizes.sum())
        stride = 1 + total // MAX_MINED
        numbers = np.arange(0, total, stride)
        ways = np.searchsorted(ends, numbers, side="right")
        turns, seconds, thirds = numbers - (ends - sizes)[ways], seconds[ways], thirds[ways]
        places = edges[rows[:, ways]] + [turns // thirds // seconds, turns // thirds % seconds, turns % thirds]
        steps = self.pairs.relations[places].astype(np.int64)
        seen = (self.graph.base(steps) != hidden.relations_of(ways)).all(axis=0)
        steps[2] = self.graph.inverse(steps[2])
        num_ends = self.profiles.count(passed[:, ways], steps).prod(axis=0)
        kept = seen & (num_ends <= MAX_ENDS)
        return encode_steps(self.graph, steps)[kept], stride / num_ends[kept]

    def _ways_between(self, head: int, tail: int) -> tuple[Integers, Integers]:
        """Return the ways of three steps between two entities, past x and y.

        Returns:
            rows: shape (3, n), of (head, x), (x, y) and (tail, y) among pairs of neighbors.
            passed: shape (3, n), head, x and y.
        """
        pairs, degrees = self.pairs, self.graph.degrees
        out = np.arange(pairs.rows[head], pairs.rows[head + 1])
        first = pairs.middles[out].astype(np.int64)
        kept = (first != head) & (first != tail) & (degrees[first] <= MAX_MIDDLE_DEGREE)
        out, first = out[kept], first[kept]
        fewer = np.minimum(pairs.rows[first + 1] - pairs.rows[first], pairs.rows[tail + 1] - pairs.rows[tail])
        visited = np.cumsum(fewer) <= MAX_VISITS
        out, first = out[visited], first[visited]
        common = pairs.common(first, np.full(len(first), tail))
        common = common.take((common.middles != head) & (degrees[common.middles] <= MAX_MIDDLE_DEGREE))
        passed = np.stack([np.full(len(common.owners), head), first[common.owners], common.middles])
        return np.stack([out[common.owners], common.of_heads, common.of_tails]), passed
