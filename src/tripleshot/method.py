"""The one contract that every method keeps, from counting links to RSCL.

Evaluating, answering, serving and the paper's tables are written against it once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tripleshot.csr import IntArray
from tripleshot.dataset import FewShotDataset

FloatArray = npt.NDArray[np.floating]


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

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run that was trained on this dataset."""
        ...


@dataclass(frozen=True)
class Reason:
    """One piece of evidence for an answer.

    Attributes:
        kind: what sort of evidence: "link", "path", "support" or "degree".
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
