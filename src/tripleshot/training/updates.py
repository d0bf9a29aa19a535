"""What a training tells while it runs: every step, and the points of its curves as they are logged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CurvePoint:
    """A line of the log as a point of the curves of a training.

    Attributes:
        stage: that was running.
        step: of all stages together.
        losses: means since the last such point, by name; empty for a validation.
        valid_mrr: of a validation; None for losses.
        is_new: False for what the log had before the training was resumed: who has followed it knows the point.
    """

    stage: str
    step: int
    losses: Mapping[str, float] = field(default_factory=dict)
    valid_mrr: float | None = None
    is_new: bool = True

    @property
    def values(self) -> dict[str, float]:
        """The numbers by the names that trackers show: `episodes/ranking`, `valid/mrr`."""
        found = {f"{self.stage}/{name}": value for name, value in self.losses.items()}
        return found if self.valid_mrr is None else {**found, "valid/mrr": self.valid_mrr}


@dataclass(frozen=True)
class TrainingUpdate:
    """What there is to tell after a step.

    Attributes:
        stage: its name, with `steps` in all.
        step: how many are done.
        losses: of this step, by name.
        best_mrr: the best validation so far, -1 before the first.
        spent: seconds since training was called: preparing, steps, validations and checkpoints.
        budget: seconds that were given; 0 if the training goes by steps.
        points: of the curves, as many as were logged since the last update. The first update of a training that was
            resumed has all from its beginning.
    """

    stage: str
    steps: int
    step: int
    losses: dict[str, float]
    best_mrr: float
    spent: float
    budget: float
    points: tuple[CurvePoint, ...] = ()


TrainingCallback = Callable[[TrainingUpdate], None]
"""Is told about every step, when the weights have been updated and their gradients are still there."""


class Curve:
    """Makes points of the lines of a log, and keeps those that nobody has been told of."""

    def __init__(self) -> None:
        self._steps_before = 0
        self._num_lines = self._num_known = 0
        self._untold: list[CurvePoint] = []

    def go_on_from(self, rows: Sequence[Mapping[str, Any]], num_kept: int) -> None:
        """Take in the log of a training that is resumed: all its lines, of which the first were kept."""
        self._num_known = len(rows)
        for row in rows[:num_kept]:
            self.add(row)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in a line."""
        is_new = self._num_lines >= self._num_known
        self._num_lines += 1
        if "finished" in row:
            self._steps_before += row.get("step", 0)
        elif "losses" in row or "valid_mrr" in row:
            step = self._steps_before + row.get("step", 0)
            losses, mrr = row.get("losses", {}), row.get("valid_mrr")
            self._untold.append(CurvePoint(row.get("stage", ""), step, losses, mrr, is_new))

    def take(self) -> tuple[CurvePoint, ...]:
        """Return the points since the last call."""
        taken, self._untold = tuple(self._untold), []
        return taken
