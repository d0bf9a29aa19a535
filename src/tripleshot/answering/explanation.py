"""Why this tail: the examples and neighbors that a method weighed most, and what joins head and tail in the graph.

After the paper's pictures of what its two encoders look at (section V, "Visualization"). Weights say what a method
listened to. They are no proof that the answer would change without it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tripleshot.arrays import FloatArray
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection
from tripleshot.markup import Shown
from tripleshot.methods.protocol import START, Reason

Side = Literal["head", "tail"]
PlotKind = Literal["reasons", "neighbors", "attention"]
MAX_REASONS = 8  # that are told and drawn
MIN_SHARE = 0.02  # of the weightiest reason: what weighs less is not worth telling
NEW_RELATION = "the new relation"  # when only its examples are known, and not its name


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
            neighbor's entity and relation together; see `roll_out`.
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
class Explanation(Shown):
    """Everything there is to say about one answer; printed, it is a text for a person.

    Attributes:
        graph: what its ids belong to.
        head: of the relation; `tail` its tail. One was asked about, the other is the answer.
        score: the method's score.
        examples: in the order given.
        neighbors: those of the entity asked about, from the nearest slot outwards, then those of the answer.
        connections: how the graph joins head and tail.
        reasons: the method's own: those for the answer, the weightiest first, then those against it, the weightiest
            first, then where every answer starts. Empty when the method gives none.
        tokens: what stands in the context, in order, without padding; empty when there is no attention.
        attention: shape (len(tokens), len(tokens)), of each token to each other, averaged over heads and layers.
        asked_side: whether the head or the tail was asked about.
        relation: what the relation is called.
    """

    graph: KnowledgeGraph
    head: int
    tail: int
    score: float
    examples: tuple[WeightedExample, ...]
    neighbors: tuple[WeightedNeighbor, ...]
    connections: tuple[Connection, ...]
    reasons: tuple[Reason, ...]
    tokens: tuple[str, ...]
    attention: FloatArray | None
    asked_side: Side = "head"
    relation: str = NEW_RELATION

    @property
    def asked(self) -> int:
        """The entity asked about."""
        return self.head if self.asked_side == "head" else self.tail

    @property
    def answer(self) -> int:
        """The entity that answers."""
        return self.tail if self.asked_side == "head" else self.head

    @property
    def main_reasons(self) -> tuple[Reason, ...]:
        """The reasons that text, page and pictures tell, in the order of `reasons`."""
        evidence = sorted((one for one in self.reasons if one.kind != START), key=lambda one: -abs(one.weight))
        least = MIN_SHARE * max((abs(one.weight) for one in evidence), default=0.0)
        kept = {id(one) for one in evidence[:MAX_REASONS] if abs(one.weight) >= least and one.weight}
        return tuple(one for one in self.reasons if id(one) in kept)

    @property
    def summary(self) -> str:
        """The whole in one sentence."""
        from tripleshot.answering.text import summarize

        return summarize(self)

    @property
    def plot_kinds(self) -> tuple[PlotKind, ...]:
        """What there is to draw, the most telling first."""
        is_weighed = any(neighbor.weight is not None for neighbor in self.neighbors)
        kinds: tuple[PlotKind, ...] = ("reasons",) if self.main_reasons else ()
        kinds += ("neighbors",) if is_weighed or not kinds else ()
        return kinds if self.attention is None else (*kinds, "attention")

    def around(self, side: Side, hops: int = 1) -> list[WeightedNeighbor]:
        """Return the neighbors of one side, the weightiest first."""
        there = [neighbor for neighbor in self.neighbors if (neighbor.side, neighbor.hops) == (side, hops)]
        return sorted(there, key=lambda neighbor: -(neighbor.weight or 0))

    def __str__(self) -> str:
        from tripleshot.answering.text import as_text

        return as_text(self)

    def to_html(self) -> str:
        """Return the summary, a picture and what else there is to tell, as a notebook shows it; names are escaped."""
        from tripleshot.answering.answers_html import explanation_html

        return explanation_html(self)

    def plot(self, path: str | Path, kind: PlotKind | None = None) -> None:
        """Draw the reasons, the weighted neighbors or the attention map, as PNG, SVG or PDF.

        Args:
            path: the file to write; its suffix decides.
            kind: what to draw; by default the first of `plot_kinds`.
        """
        from tripleshot.answering.plots import draw_attention, draw_neighbors  # nobody else waits for matplotlib
        from tripleshot.answering.reason_plots import draw_reasons

        drawn = {"reasons": draw_reasons, "neighbors": draw_neighbors, "attention": draw_attention}
        drawn[kind or self.plot_kinds[0]](self, Path(path))
