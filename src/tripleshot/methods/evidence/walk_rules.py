"""Rules of three steps, weighed by the probability of a random walk, as the path ranking algorithm does.

A path type of three relations, inverses among them, is a rule: from a head, take an edge of the first relation at random,
then one of the second and one of the third. That a walk ends at an entity is as probable as the product of 1 / (edges of
the relation) along its steps. A rule is trusted as far as its walks lead from the examples' heads to their tails (Lao and
Cohen, Relational retrieval using a combination of path-constrained random walks, 2010).

Walks pass four different entities and no hub on their way. One of less than 1 / `MAX_ENDS` says nothing and is left out:
probabilities add up to one, so no rule has more than `MAX_ENDS` walks from a head.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tripleshot import arrays
from tripleshot.arrays import IntArray, lookup
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import CommonNeighbors, PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence.path_rules import MAX_MIDDLE_DEGREE, SMOOTHING

MAX_RULES = 64  # of the largest masses
MAX_ENDS = 1000  # what is less probable than one of so many says nothing
MAX_VISITS = 10_000  # neighbors that are looked at between the ends of an example
MAX_MINED = 4000  # of more walks between them, every k-th is taken

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Masses = tuple[Integers, Floats]
"""Path types in ascending order, and the sum over examples of the probability that a walk leads from head to tail."""


@dataclass(frozen=True, eq=False)
class WalkRules:
    """Path types of three steps that join at least one example.

    Attributes:
        path_types: shape (n,), sorted; (first * width + second) * width + third of the relations and their inverses.
        confidence: shape (n,), mass / (number of examples + smoothing).
    """

    path_types: Integers
    confidence: Floats

    @cached_property
    def weights(self) -> Floats:
        """What a tail earns for each rule that reaches it, as that of `PathRules`."""
        return -np.log1p(-self.confidence)

    def steps(self, graph: KnowledgeGraph) -> tuple[Integers, Integers, Integers]:
        """Return the relation of each step, shape (n,) each."""
        width = max(2 * graph.num_relations, 1)
        return self.path_types // width**2, self.path_types // width % width, self.path_types % width


def weigh_masses(path_types: Integers, masses: Floats, shots: int) -> WalkRules:
    """Return the rules of some masses of so many examples; what few examples say is not yet certain."""
    return WalkRules(path_types, np.minimum(masses, shots) / (shots + SMOOTHING))
