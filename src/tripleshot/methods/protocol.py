"""The one contract that every method keeps, from counting links to RSCL.

Evaluation, answering, serving and the paper's tables are written against it once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection

ScoreTails = Callable[[int, IntArray], FloatArray]
"""Scores tails of a head, given both, as `Scorer.score` does for examples that are settled."""


class Scorer(Protocol):
    """Something that scores tails for a head, given examples of a relation it may never have seen."""

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails, higher is better.

        Args:
            support: shape (K, 2), head and tail of each example of the relation.
            head: the entity asked about.
            tails: shape (n,), the entities to score.

        Returns:
            shape (n,), finite; permuting the tails permutes the scores.
        """
        ...


@runtime_checkable
class ComparesCandidates(Protocol):
    """Something whose scores depend on which candidates a relation has; unless it is told, on those open to anybody."""

    def compare_among(self, support: IntArray, candidates: IntArray) -> None:
        """Take what tails are compared with from now on, for these examples.

        Args:
            support: shape (K, 2), head and tail of each example of the relation.
            candidates: sorted.
        """
        ...


class HidesRelations(Protocol):
    """Something that can score as if its graph lacked a relation."""

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that it looks at."""
        ...

    def scorer_without(self, relation: str, support: IntArray) -> ScoreTails:
        """Return what scores tails for some examples, without seeing the edges of a relation, given by its name."""
        ...


class Method(Scorer, Protocol):
    """A scorer that looks at one graph."""

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that the method looks at: the background, perhaps with more relations; the entities are the same.

        Whoever decodes a relation id that the method has named asks this graph.
        """
        ...

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Look at the background graph; a method that learns makes an untrained network for its names."""
        ...


START = "start"  # the kind of what the score begins with, the same for every answer to a question


@dataclass(frozen=True)
class Reason:
    """One piece of evidence for an answer, or against it.

    Attributes:
        kind: what sort of evidence: "link", "path", "support", "degree" and so on; `START` is what every answer has.
        text: a statement for a person, without a full stop.
        weight: how much of the score it carries; below zero it speaks against the answer.
        paths: from the head to the tail in the graph, that it rests on; a picture draws them.
        examples: head and tail of each example that it rests on.
    """

    kind: str
    text: str
    weight: float
    paths: tuple[Connection, ...] = ()
    examples: tuple[tuple[int, int], ...] = ()


@runtime_checkable
class ExplainingMethod(Method, Protocol):
    """A method that can say why."""

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Return the reasons for a tail and against it; their weights add up to the score.

        None are given where attention says all there is.
        """
        ...


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The neighbors of one entity that a method looked at, direct ones first.

    Attributes:
        relations: shape (n,), of edges that leave the entity or, for a distant neighbor, one of the direct ones.
        entities: shape (n,), the entity at the other end.
        num_direct: how many of the first are direct.
        weights: shape (num_direct,), their share in the entity's representation; None if the method weighs none.
    """

    relations: IntArray
    entities: IntArray
    num_direct: int
    weights: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Attention:
    """What a method weighed to score one tail; None for what has no part in the score.

    Attributes:
        of_head: the head's neighbors; `of_tail` the tail's.
        global_examples: shape (K,), the share of each example when whole contexts are compared.
        local_examples: shape (K,), the share of each example when direct neighbors are compared.
        layers: shape (L, n, n), attention of each token of the context to each other, averaged over heads. The tokens
            are the head's pairs from the outermost to the nearest (entity, relation), then head, relation and tail,
            then the tail's pairs from the nearest to the outermost (relation, entity).
    """

    of_head: Neighborhood
    of_tail: Neighborhood
    global_examples: FloatArray | None = None
    local_examples: FloatArray | None = None
    layers: FloatArray | None = None


@runtime_checkable
class AttentiveMethod(Method, Protocol):
    """A method that can show what it weighed."""

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the score of a tail was made of."""
        ...
