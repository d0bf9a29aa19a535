"""The one table of features: numbers that describe a pair of head and tail, by name and kind of evidence.

Its order is that of the columns that a network is trained on. Groups are what reasons speak of and ablations leave out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tripleshot.errors import InputError, did_you_mean
from tripleshot.methods.evidence.pair_evidence import PairEvidence

QUERY = "query"  # the group of what is the same for all tails of a query, and so no evidence for any of them
TEXT = "text"


@dataclass(frozen=True)
class Feature:
    """A number that describes a pair.

    Attributes:
        name: what it says.
        group: the kind of evidence that it belongs to, or `QUERY`.
        compute: returns it for n pairs, shape (n,), a number or a truth value each.
    """

    name: str
    group: str
    compute: Callable[[PairEvidence], npt.NDArray[Any]]


FEATURES = (
    Feature("linked", "link", lambda pairs: pairs.is_linked),
    Feature("log of the number of links", "link", lambda pairs: np.log1p(pairs.num_links)),
    Feature("share of examples with such a link", "link", lambda pairs: pairs.link_share),
    Feature("exclusiveness of the link", "link", lambda pairs: pairs.link_exclusiveness),
    Feature("rarity of the link's relation", "link", lambda pairs: pairs.link_rarity),
    Feature("linked, as examples are", "link", lambda pairs: pairs.is_linked * pairs.examples.linked_share),
    Feature("linked, as no example is", "link", lambda pairs: pairs.is_linked * (pairs.examples.linked_share == 0)),
    Feature("log of path weights", "path", lambda pairs: np.log1p(pairs.path_weight)),
    Feature("a path that examples share", "path", lambda pairs: pairs.path_weight > 0),
    Feature("a common neighbor", "common", lambda pairs: pairs.common_weight > 0),
    Feature("log of common neighbors", "common", lambda pairs: np.log1p(10 * pairs.common_weight)),
    Feature(
        "a common neighbor, as examples have",
        "common",
        lambda pairs: (pairs.common_weight > 0) * pairs.examples.common_share,
    ),
    Feature("a walk of three steps", "walk", lambda pairs: pairs.walk_weight > 0),
    Feature("log of walks of three steps", "walk", lambda pairs: np.log1p(100 * pairs.walk_weight)),
    Feature(
        "log of walks of three steps, by the tail's degree",
        "walk",
        lambda pairs: np.log1p(100 * pairs.walk_weight / np.sqrt(pairs.tail_degrees)),
    ),
    Feature("share of examples with the tail", "support", lambda pairs: pairs.tail_share),
    Feature("tail of an example", "support", lambda pairs: pairs.tail_share > 0),
    Feature(
        "share of examples with the tail, by different tails",
        "support",
        lambda pairs: pairs.tail_share * pairs.examples.distinct_tails,
    ),
    Feature(
        "tail of an example, by repeated tails",
        "support",
        lambda pairs: (pairs.tail_share > 0) * (1 - pairs.examples.distinct_tails),
    ),
    Feature(
        "share of examples with the tail, if the head is in one",
        "support",
        lambda pairs: pairs.tail_share * pairs.is_example(pairs.heads, 0),
    ),
    Feature(
        "tail of an example with a similar head",
        "support",
        lambda pairs: (pairs.tail_matches * pairs.head_similarity).max(axis=1, initial=0),
    ),
    Feature(
        "tail of an example whose head has the same neighbors",
        "support",
        lambda pairs: (pairs.tail_matches * pairs.shared_with_heads).max(axis=1, initial=0),
    ),
    Feature("head of an example", "support", lambda pairs: pairs.is_example(pairs.tails, 0)),
    Feature("mean similarity to tails", "similarity", lambda pairs: pairs.tail_similarity.mean(axis=1)),
    Feature("largest similarity to a tail", "similarity", lambda pairs: pairs.tail_similarity.max(axis=1, initial=0)),
    Feature(
        "log of neighbors in common with tails, by the tail's degree",
        "similarity",
        lambda pairs: np.log1p(10 * pairs.shared_with_tails.mean(axis=1) / np.sqrt(pairs.tail_degrees)),
    ),
    Feature(
        "share of tails with a neighbor in common",
        "similarity",
        lambda pairs: (pairs.shared_with_tails > 0).mean(axis=1),
    ),
    Feature(
        "a neighbor in common with the tail of a similar head",
        "similarity",
        lambda pairs: pairs.shared_by_similarity > 0,
    ),
    Feature(
        "log of neighbors in common with the tail of a similar head",
        "similarity",
        lambda pairs: np.log1p(10 * pairs.shared_by_similarity),
    ),
    Feature("similarity of the names of head and tail", TEXT, lambda pairs: pairs.name_similarity),
    Feature(
        "largest similarity to the name of a tail",
        TEXT,
        lambda pairs: pairs.tail_name_similarity.max(axis=1, initial=0),
    ),
    Feature("mean similarity to the names of tails", TEXT, lambda pairs: pairs.tail_name_similarity.mean(axis=1)),
    Feature(
        "similarity to the name of a tail whose head has a similar name",
        TEXT,
        lambda pairs: (pairs.head_name_similarity * pairs.tail_name_similarity).max(axis=1, initial=0),
    ),
    Feature("share of linked examples", QUERY, lambda pairs: pairs.repeat(pairs.examples.linked_share)),
    Feature("share of examples with a common neighbor", QUERY, lambda pairs: pairs.repeat(pairs.examples.common_share)),
    Feature("different tails per example", QUERY, lambda pairs: pairs.repeat(pairs.examples.distinct_tails)),
    Feature("different heads per example", QUERY, lambda pairs: pairs.repeat(pairs.examples.distinct_heads)),
    Feature("the head is the head of an example", QUERY, lambda pairs: pairs.is_example(pairs.heads, 0)),
    Feature("the head is the tail of an example", QUERY, lambda pairs: pairs.is_example(pairs.heads, 1)),
    Feature("log of the head's degree", QUERY, lambda pairs: np.log1p(pairs.head_degrees)),
)


class FeatureTable:
    """The features that a network looks at.

    Attributes:
        features: in the order of their columns.
        groups: the kinds of evidence, in the order of their features.
    """

    def __init__(self, text: bool = False) -> None:
        """Take all features, those of names only with text."""
        self.features = tuple(feature for feature in FEATURES if text or feature.group != TEXT)
        self.groups = tuple(dict.fromkeys(feature.group for feature in self.features if feature.group != QUERY))

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.features)

    def columns_of(self, *groups: str) -> npt.NDArray[np.bool_]:
        """Tell which features belong to some kinds of evidence: shape (len(self),)."""
        for group in groups:
            if group not in self.groups:
                raise InputError(f"there is no evidence of the kind {group!r}{did_you_mean(group, list(self.groups))}")
        return np.array([feature.group in groups for feature in self.features])

    def compute(self, pairs: PairEvidence) -> npt.NDArray[np.float32]:
        """Return the features of n pairs, shape (n, len(self))."""
        return np.stack([feature.compute(pairs) for feature in self.features], axis=1).astype(np.float32)
