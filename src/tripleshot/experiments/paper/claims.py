"""What the paper claims, held against our figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tripleshot.experiments.paper.report import Claim
from tripleshot.experiments.paper.results import printed_figure


@dataclass(frozen=True)
class Contest:
    """Two figures of which a claim says that the first is higher; None for one that nobody has measured.

    Attributes:
        where: what the figures are of.
        first: the one that should be higher.
        second: the other.
    """

    where: str
    first: float | None
    second: float | None


def against_all(where: str, ours: float | None, rivals: Mapping[str, float | None]) -> Contest:
    """Return the contest with the strongest of several; while some are not measured, one that is can only refute."""
    known = {name: value for name, value in rivals.items() if value is not None}
    if not known or ours is None:
        return Contest(where, None, None)
    name = max(known, key=known.__getitem__)
    is_decided = len(known) == len(rivals) or known[name] >= ours
    return Contest(f"{where}, {name}", ours, known[name] if is_decided else None)


def judge(text: str, contests: Sequence[Contest]) -> Claim:
    """Hold a claim against figures: one that goes the other way refutes it, and all of them are needed to hold it.

    What is equal to three places, as figures are printed, is not higher.
    """
    known = [
        (one.where, round(one.first, 3), round(one.second, 3))
        for one in contests
        if one.first is not None and one.second is not None
    ]
    detail = "; ".join(
        f"{where}: {printed_figure(first)} against {printed_figure(second)}" for where, first, second in known
    )
    if any(first <= second for _, first, second in known):
        return Claim(text, "not held", detail)
    return Claim(text, "held" if known and len(known) == len(contests) else "not known yet", detail)
