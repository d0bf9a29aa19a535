"""The one table of features: numbers that describe a pair of head and tail, by name and kind of evidence.

Its order is that of the columns that a network is trained on. Groups are what reasons speak of and ablations leave out.
A feature is data, not code, so that arrays and the kernel in `native` compute it alike.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tripleshot.errors import InputError, did_you_mean
from tripleshot.methods.evidence.pair_evidence import AskedEvidence

QUERY = "query"  # the group of what is the same for all tails of a query, and so no evidence for any of them
TEXT = "text"
TYPE = "type"
ALWAYS = "always"

Transform = Literal["value", "positive", "logarithm"]
"""What is taken of a quantity q: q itself, whether it is above 0, or log(1 + q)."""


Scope = Literal["pair", "tail", "query"]
"""What a feature depends on beside the examples: head and tail, the tail alone, or the head alone. One of the pair is 0
for a tail that nothing joins to the head, unless it is the head itself, the tail of an example, or has a neighbor in
common with one."""

OF_TAILS = (
    "tail_share",
    "tail_is_head",
    "mean_similarity",
    "largest_similarity",
    "shared_by_degree",
    "shared_share",
    "type_share",
    "largest_type_share",
    "rare_type_share",
)
OF_HEADS = ("head_is_head", "head_is_tail", "log_head_degree")


@dataclass(frozen=True)
class Feature:
    """A number that describes a pair: a quantity of the pair, transformed, times a quantity of the query.

    Attributes:
        name: what it says.
        group: the kind of evidence that it belongs to, or `QUERY`.
        quantity: one of `AskedEvidence.quantities`.
        transform: what is taken of it.
        scale: what it is multiplied by before.
        factor: one of `AskedEvidence.query_quantities`.
    """

    name: str
    group: str
    quantity: str
    transform: Transform = "value"
    scale: float = 1.0
    factor: str = ALWAYS

    @property
    def scope(self) -> Scope:
        """What it depends on."""
        if self.group == QUERY:
            return "query"
        return "tail" if self.quantity in OF_TAILS and self.factor not in OF_HEADS else "pair"


FEATURES = (
    Feature("linked", "link", "num_links", "positive"),
    Feature("log of the number of links", "link", "num_links", "logarithm"),
    Feature("share of examples with such a link", "link", "link_share"),
    Feature("exclusiveness of the link", "link", "link_exclusiveness"),
    Feature("rarity of the link's relation", "link", "link_rarity"),
    Feature("exclusiveness of the link, seen from the tail", "link", "turned_exclusiveness"),
    Feature("log of the links that examples have, by how rare these are", "link", "link_overlap", "logarithm", 10),
    Feature("linked, as examples are", "link", "num_links", "positive", factor="linked_share"),
    Feature("linked, as no example is", "link", "num_links", "positive", factor="is_unlinked"),
    Feature("the head itself", "link", "is_head"),
    Feature("the head itself, as in examples", "link", "is_head", factor="loop_share"),
    Feature("log of path weights", "path", "path_weight", "logarithm"),
    Feature("a path that examples share", "path", "path_weight", "positive"),
    Feature("log of the probability of paths that examples share", "path", "path_probability", "logarithm", 100),
    Feature("log of the probability of paths back that examples share", "path", "path_returning", "logarithm", 100),
    Feature("a common neighbor", "common", "common_weight", "positive"),
    Feature("log of common neighbors", "common", "common_weight", "logarithm", 10),
    Feature("a common neighbor, as examples have", "common", "common_weight", "positive", factor="common_share"),
    Feature("a walk of three steps", "walk", "walk_weight", "positive"),
    Feature("log of walks of three steps", "walk", "walk_weight", "logarithm", 100),
    Feature("log of walks of three steps, by the tail's degree", "walk", "walk_by_degree", "logarithm", 100),
    Feature("a walk that examples share", "walk", "walk_probability", "positive"),
    Feature("log of the probability of walks that examples share", "walk", "walk_probability", "logarithm", 100),
    Feature("log of the probability of walks back that examples share", "walk", "walk_returning", "logarithm", 100),
    Feature("share of examples with the tail", "support", "tail_share"),
    Feature("tail of an example", "support", "tail_share", "positive"),
    Feature("share of examples with the tail, by different tails", "support", "tail_share", factor="distinct_tails"),
    Feature("tail of an example, by repeated tails", "support", "tail_share", "positive", factor="repeated_tails"),
    Feature("share of examples with the tail, if the head is in one", "support", "tail_share", factor="head_is_head"),
    Feature("tail of an example with a similar head", "support", "similar_head"),
    Feature("tail of an example whose head has the same neighbors", "support", "same_neighbors"),
    Feature("head of an example", "support", "tail_is_head"),
    Feature("mean similarity to tails", "similarity", "mean_similarity"),
    Feature("largest similarity to a tail", "similarity", "largest_similarity"),
    Feature(
        "log of neighbors in common with tails, by the tail's degree", "similarity", "shared_by_degree", "logarithm", 10
    ),
    Feature("share of tails with a neighbor in common", "similarity", "shared_share"),
    Feature("a neighbor in common with the tail of a similar head", "similarity", "shared_by_similarity", "positive"),
    Feature(
        "log of neighbors in common with the tail of a similar head",
        "similarity",
        "shared_by_similarity",
        "logarithm",
        10,
    ),
    Feature("share of types in common with tails", TYPE, "type_share"),
    Feature("a type of some tail", TYPE, "type_share", "positive"),
    Feature("largest share of types in common with a tail", TYPE, "largest_type_share"),
    Feature("share of types in common with tails, by how rare these are", TYPE, "rare_type_share"),
    Feature("similarity of the names of head and tail", TEXT, "name_similarity"),
    Feature("largest similarity to the name of a tail", TEXT, "largest_name_similarity"),
    Feature("mean similarity to the names of tails", TEXT, "mean_name_similarity"),
    Feature("similarity to the name of a tail whose head has a similar name", TEXT, "name_by_similarity"),
    Feature("share of linked examples", QUERY, "one", factor="linked_share"),
    Feature("share of examples with a common neighbor", QUERY, "one", factor="common_share"),
    Feature("different tails per example", QUERY, "one", factor="distinct_tails"),
    Feature("different heads per example", QUERY, "one", factor="distinct_heads"),
    Feature("the head is the head of an example", QUERY, "one", factor="head_is_head"),
    Feature("the head is the tail of an example", QUERY, "one", factor="head_is_tail"),
    Feature("log of the head's degree", QUERY, "one", factor="log_head_degree"),
    Feature("share of examples whose tail has a type", QUERY, "one", factor="typed_share"),
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
        self._factors = list(dict.fromkeys(feature.factor for feature in self.features))
        self._factor_of = np.array([self._factors.index(feature.factor) for feature in self.features])

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.features)

    def columns_of(self, *groups: str) -> npt.NDArray[np.bool_]:
        """Tell which features belong to some kinds of evidence: shape (len(self),)."""
        for group in groups:
            if group not in self.groups:
                raise InputError(f"there is no evidence of the kind {group!r}{did_you_mean(group, list(self.groups))}")
        return np.array([feature.group in groups for feature in self.features])

    def columns_in(self, scope: Scope) -> npt.NDArray[np.int64]:
        """Return which features depend on a pair, on a tail or on a query."""
        return np.flatnonzero([feature.scope == scope for feature in self.features])

    def factors(self, evidence: AskedEvidence) -> npt.NDArray[np.float32]:
        """Return what each feature is multiplied by for each head: shape (h, len(self))."""
        found = evidence.query_quantities()
        values = np.empty((len(evidence.asked.heads), len(self._factors)), np.float32)
        for place, name in enumerate(self._factors):
            values[:, place] = found[name]
        return values.take(self._factor_of, axis=1)  # contiguous, as the kernel reads it

    def compute(self, evidence: AskedEvidence) -> npt.NDArray[np.float32]:
        """Return the features of n pairs, shape (n, len(self))."""
        found = evidence.quantities()
        columns = [transform(found[feature.quantity] * feature.scale, feature.transform) for feature in self.features]
        return np.stack(columns, axis=1).astype(np.float32) * self.factors(evidence)[evidence.asked.rows]


def transform(values: npt.NDArray[np.float64], kind: Transform) -> npt.NDArray[np.float64]:
    """Return what a feature takes of a quantity."""
    match kind:
        case "value":
            return values
        case "positive":
            return (values > 0).astype(np.float64)
        case "logarithm":
            return np.log1p(values)
