"""The one contract that every method keeps, from counting links to RSCL.

Evaluating, answering, serving and the paper's tables are written against it once.
"""

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph


class Method(Protocol):
    """Something that scores tails for a head, given examples of a relation it may never have seen."""

    def fit(self, dataset: FewShotDataset, shots: int) -> None:
        """Learn from the background graph and the train tasks; choose on the valid tasks; never look at test."""
        ...

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


class LearningMethod(Method, Protocol):
    """A method that is trained, and whose weights can be kept."""

    def fit(
        self,
        dataset: FewShotDataset,
        shots: int,
        folder: Path | None = None,
        resume: bool = False,
        observer: Any = None,  # noqa: ANN401 (a training.Observer; methods stand below the trainer)
    ) -> None:
        """Learn, choose on the valid tasks, and keep weights, checkpoint and log in a folder.

        Args:
            dataset: background, train tasks to learn from, valid tasks to choose on.
            shots: K.
            folder: None keeps nothing on disk.
            resume: go on from the checkpoint in the folder.
            observer: is told about every step.
        """
        ...

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run that was trained on this dataset."""
        ...


def settings_of(method: Method) -> dict[str, Any]:
    """Return the settings that a method was made with, if it is no more than its settings."""
    if not is_dataclass(method):
        return {}
    return {field.name: getattr(method, field.name) for field in fields(method) if field.init}


@dataclass(frozen=True)
class Reason:
    """One piece of evidence for an answer.

    Attributes:
        kind: what sort of evidence: "link", "path", "support", "degree" and so on.
        text: a sentence for a person.
        weight: how much of the score it carries.
    """

    kind: str
    text: str
    weight: float


@runtime_checkable
class ExplainingMethod(Method, Protocol):
    """A method that can say why."""

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Return the reasons for a tail, the weightiest first."""
        ...


@runtime_checkable
class SeeingMethod(Method, Protocol):
    """A method that says which graph it looks at."""

    @property
    def graph(self) -> KnowledgeGraph:
        """The background, perhaps with more relations; the entities are the same."""
        ...


def graph_of(method: Method, dataset: FewShotDataset) -> KnowledgeGraph:
    """Return the graph that a method looks at: what its explanations are about."""
    return method.graph if isinstance(method, SeeingMethod) else dataset.graph


@dataclass(frozen=True, eq=False)
class Surroundings:
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

    of_head: Surroundings
    of_tail: Surroundings
    global_examples: FloatArray | None = None
    local_examples: FloatArray | None = None
    layers: FloatArray | None = None


@runtime_checkable
class AttentiveMethod(Method, Protocol):
    """A method that can show what it weighed."""

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the score of a tail was made of."""
        ...
