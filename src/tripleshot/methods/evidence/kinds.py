"""The features of a pair by name and kind: what is computed, what reasons speak of, what ablations leave out."""

import numpy as np
import numpy.typing as npt

from tripleshot.errors import InputError, nearest

GROUPS: dict[str, tuple[str, ...]] = {
    "link": (
        "linked",
        "log of links",
        "a link that examples have",
        "the only link of its kind",
        "a link of a rare kind",
        "linked, as examples are",
        "linked, as no example is",
    ),
    "path": ("log of path weights", "a path that examples have"),
    "common": ("a common neighbor", "log of common neighbors", "a common neighbor, as examples have"),
    "walk": ("walks of three steps", "log of walks of three steps", "log of walks of three steps, for its degree"),
    "support": (
        "share of examples",
        "in examples",
        "share of examples, if tails differ",
        "in examples, if tails repeat",
        "share of examples, if the head is in one",
        "in an example whose head is alike",
        "in an example whose head has the same neighbors",
        "the head of an example",
    ),
    "likeness": (
        "likeness to tails",
        "likeness to a tail",
        "neighbors in common with tails",
        "share of tails with a neighbor in common",
        "a neighbor in common with the tail of a head alike",
        "neighbors in common with the tail of a head alike",
    ),
}
TEXT_GROUPS: dict[str, tuple[str, ...]] = {
    "text": (
        "head and tail are called alike",
        "called like a tail",
        "called like tails",
        "called like the tail of a head that is called like this one",
    ),
}
CIRCUMSTANCES = (
    "share of examples that are linked",
    "share of examples with a common neighbor",
    "share of different tails",
    "share of different heads",
    "the head is in an example",
    "the head is the tail of an example",
    "log of the head's degree",
)


class EvidenceKinds:
    """Which features there are.

    Attributes:
        groups: the names of the features by kind; the columns stand in their order, `CIRCUMSTANCES` after them.
        size: how many there are.
    """

    def __init__(self, text: bool = False) -> None:
        """With text there is one kind more."""
        self.groups = {**GROUPS, **TEXT_GROUPS} if text else GROUPS
        self.size = sum(len(names) for names in self.groups.values()) + len(CIRCUMSTANCES)

    def columns_of(self, kinds: str) -> npt.NDArray[np.bool_]:
        """Tell which features belong to some kinds, given with commas or blanks between: shape (size,)."""
        asked = kinds.replace(",", " ").split()
        for kind in asked:
            if kind not in self.groups:
                raise InputError(f"there is no evidence of the kind {kind!r}{nearest(kind, list(self.groups))}")
        chosen = [kind in asked for kind, features in self.groups.items() for _ in features]
        return np.array(chosen + [False] * len(CIRCUMSTANCES))
