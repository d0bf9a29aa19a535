"""What there is to say about one answer: examples, neighbors, connections, reasons, each with its weight.

Weights say what a method listened to. They are no proof that the answer would change without it.
"""

from dataclasses import dataclass
from typing import Literal

from tripleshot.arrays import FloatArray
from tripleshot.graph.connections import Connection
from tripleshot.methods.protocol import Reason

Side = Literal["head", "tail"]
NEW_RELATION = "the new relation"  # its name is not known, only its examples are


@dataclass(frozen=True)
class WeightedExample:
    """An example of the relation, and how much of the support it was for this query.

    Attributes:
        head: the example's head; `tail` its tail.
        global_weight: the aggregator's weight on whole contexts, which sums to one over the examples; None if the
            method has none.
        local_weight: the same on direct neighbors.
    """

    head: int
    tail: int
    global_weight: float | None
    local_weight: float | None

    @property
    def weight(self) -> float | None:
        """The mean of the weights that there are."""
        weights = [weight for weight in (self.global_weight, self.local_weight) if weight is not None]
        return sum(weights) / len(weights) if weights else None


@dataclass(frozen=True)
class WeightedNeighbor:
    """A neighbor of the head or the tail in the context that was scored.

    Attributes:
        side: whose neighbor it is.
        hops: 1 for a direct neighbor, 2 for a distant one.
        relation: of the edge to it, which leaves the side's entity or `through`; past `num_relations` an inverse.
        entity: the neighbor.
        through: the direct neighbor that a distant one is reached through; None for a direct one.
        local_weight: the local encoder's weight, which sums to one over a side; None for distant ones.
        attention: what the encoder's attention, rolled out over its layers, leads from head, relation and tail to the
            neighbor's entity and relation together; see `explaining.roll_out`.
    """

    side: Side
    hops: int
    relation: int
    entity: int
    through: int | None
    local_weight: float | None
    attention: float | None

    @property
    def weight(self) -> float | None:
        """The local encoder's weight if there is one, else the attention."""
        return self.attention if self.local_weight is None else self.local_weight


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything there is to say about one answer.

    Attributes:
        head: the entity asked about; `tail` the answer to explain.
        score: the method's score.
        examples: in the order given.
        neighbors: the head's from the nearest slot outwards, then the tail's.
        connections: how the graph joins head and tail.
        reasons: the method's own, the weightiest first; empty when it gives none.
        tokens: what stands in the context, in order, without padding; empty when there is no attention.
        attention: shape (len(tokens), len(tokens)), of each token to each other, averaged over heads and layers.
    """

    head: int
    tail: int
    score: float
    examples: tuple[WeightedExample, ...]
    neighbors: tuple[WeightedNeighbor, ...]
    connections: tuple[Connection, ...]
    reasons: tuple[Reason, ...]
    tokens: tuple[str, ...]
    attention: FloatArray | None

    def around(self, side: Side, hops: int = 1) -> list[WeightedNeighbor]:
        """Return the neighbors of one side, the weightiest first."""
        there = [neighbor for neighbor in self.neighbors if (neighbor.side, neighbor.hops) == (side, hops)]
        return sorted(there, key=lambda neighbor: -(neighbor.weight or 0))
