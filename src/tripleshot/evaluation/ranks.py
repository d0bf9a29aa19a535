"""Ranks of true answers, and the metrics that the field makes of them: MRR and Hits@N, over queries and relations."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import FloatArray
from tripleshot.errors import InputError

TieRule = Literal["pessimistic", "optimistic", "realistic"]
TIE_RULES: tuple[TieRule, ...] = get_args(TieRule)
HITS_AT = (1, 5, 10)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where the true tails of queries came; one row per query, in the order of the protocol.

    Attributes:
        relations: shape (n,), which relation of `relation_names` a query belongs to.
        heads: shape (n,), the head asked about.
        tails: shape (n,), the true tail.
        optimistic: shape (n,), rank if the true tail comes first among equal scores, 1 is best; infinite when the true
            tail is not among the candidates at all (possible in `open` mode only).
        pessimistic: shape (n,), rank if it comes last among equal scores: the field's rule, and our default.
        num_candidates: shape (n,), how many tails it was ranked among, itself included.
        relation_names: names of the relations, in file order.
    """

    relations: npt.NDArray[np.int32]
    heads: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    optimistic: npt.NDArray[np.float64]
    pessimistic: npt.NDArray[np.float64]
    num_candidates: npt.NDArray[np.int64]
    relation_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tails)

    def by(self, rule: TieRule) -> npt.NDArray[np.float64]:
        """Return the ranks by one tie rule; the realistic one is the mean of the other two."""
        if rule == "optimistic":
            return self.optimistic
        return self.pessimistic if rule == "pessimistic" else (self.optimistic + self.pessimistic) / 2

    def where(self, mask: npt.NDArray[np.bool_]) -> "Ranks":
        """Return the ranks of some queries only."""
        return Ranks(
            self.relations[mask],
            self.heads[mask],
            self.tails[mask],
            self.optimistic[mask],
            self.pessimistic[mask],
            self.num_candidates[mask],
            self.relation_names,
        )


Metrics = dict[str, float]
"""`mrr`, `hits@1`, `hits@5` and `hits@10`, each between 0 and 1."""


@dataclass(frozen=True)
class Summary:
    """Metrics by one tie rule.

    Attributes:
        micro: plain mean over all queries, as published.
        macro: mean over relations, each counting the same.
        relations: by relation name, with the number of `queries`.
    """

    micro: Metrics
    macro: Metrics
    relations: dict[str, dict[str, float | int]]


def metrics(ranks: npt.NDArray[np.float64]) -> Metrics:
    """Return mean reciprocal rank and hits of some ranks."""
    return {"mrr": float(np.mean(1 / ranks)), **{f"hits@{n}": float(np.mean(ranks <= n)) for n in HITS_AT}}


def summarize(ranks: Ranks, rule: TieRule = "pessimistic") -> Summary:
    """Turn ranks into metrics."""
    if not len(ranks):
        raise InputError("there is no query to evaluate")
    by_rule = ranks.by(rule)
    relations: dict[str, dict[str, float | int]] = {}
    for index in np.unique(ranks.relations):
        of_relation = by_rule[ranks.relations == index]
        relations[ranks.relation_names[index]] = {"queries": len(of_relation), **metrics(of_relation)}
    micro = metrics(by_rule)
    macro = {name: float(np.mean([row[name] for row in relations.values()])) for name in micro}
    return Summary(micro, macro, relations)


def rank_among(rivals: FloatArray, answers: FloatArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the optimistic and the pessimistic rank of each answer's score among its rivals' scores."""
    ordered = np.sort(rivals)
    not_better = np.searchsorted(ordered, answers, side="right")
    worse = np.searchsorted(ordered, answers, side="left")
    return 1 + len(rivals) - not_better, 1 + len(rivals) - worse
