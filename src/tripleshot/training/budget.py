"""How long a stage of training lasts: so many steps, or its share of a budget of time.

A budget turns steps into time and keeps their proportions. A stage of a thousand steps that validates every hundred
validates ten times, whatever the budget: a tenth of the stage's time apart; a learning rate that falls over its steps
falls over its time. So every method, fast or slow, goes through its whole schedule in the same time.
"""

import re
from collections.abc import Sequence
from datetime import timedelta

from tripleshot.errors import InputError
from tripleshot.methods.trainable import Stage
from tripleshot.training.checkpoints import TrainingProgress

MAX_VALIDATING = 0.25  # of the time of a stage; validations that would take more wait
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}


class Budget:
    """Says where in its stage a training is.

    By steps, every step counts the same. By time, every second does, and stages share the budget in proportion to their
    steps; a stage then ends when its time is up but for a last validation, expected to take as long as the others did
    on average.
    """

    def __init__(
        self, stages: Sequence[Stage], progress: TrainingProgress, validate_every: int, seconds: float = 0.0
    ) -> None:
        """Look at the stage that is running.

        Args:
            stages: all of the training's.
            progress: where it is.
            validate_every: steps between validations.
            seconds: for all stages together; 0 goes by steps.
        """
        stage = stages[progress.stage]
        self.steps, self.validates = stage.steps, stage.validates
        self.progress, self.validate_every, self.seconds = progress, validate_every, seconds
        share = sum(one.steps for one in stages[: progress.stage + 1]) / max(sum(one.steps for one in stages), 1)
        self.end = seconds * share

    def position(self) -> float:
        """Return how far the stage has come, from 0 to its number of steps."""
        state = self.progress
        if not self.seconds:
            return state.step
        used, given = state.spent - state.stage_began, self.end - state.stage_began
        return self.steps * min(1.0, used / given) if given > 0 else float(self.steps)

    def is_over(self) -> bool:
        """Tell whether the stage has come to its end."""
        state = self.progress
        if not self.seconds:
            return state.step >= self.steps
        last = state.validating / state.validations if self.validates and state.validations else 0.0
        return state.spent + last >= self.end

    def is_time_to_validate(self) -> bool:
        """Tell whether the interval between validations has passed, and they have not taken too much of the time."""
        state = self.progress
        if not self.seconds:
            return state.step % self.validate_every == 0 or self.is_over()
        passed = self.position() // self.validate_every > state.validated_at // self.validate_every
        affordable = state.validating <= MAX_VALIDATING * (state.spent - state.stage_began)
        return (passed and affordable) or self.is_over()


def read_budget(budget: str | float | timedelta | None) -> float:
    """Return a budget in seconds, 0 for none: "20m", "1h30m", "90s", a number of seconds or a timedelta."""
    if budget is None:
        return 0.0
    seconds = budget.total_seconds() if isinstance(budget, timedelta) else budget
    if isinstance(seconds, str):
        parts = re.findall(r"(\d+(?:\.\d+)?)\s*([hms])", seconds)
        is_whole = re.fullmatch(r"(\s*\d+(?:\.\d+)?\s*[hms])+\s*", seconds)
        seconds = sum(float(number) * UNITS[unit] for number, unit in parts) if is_whole else 0.0
    if not 0 < seconds < float("inf"):
        shown = str(budget) if isinstance(budget, timedelta) else budget
        raise InputError(f"budget: a time to train in, such as 20m, 1h30m or 90s, not {shown!r}")
    return float(seconds)


def write_budget(seconds: float) -> str:
    """Write a budget as a person would give it: 90s, 5m, 1h30m."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number:g}{unit}" for number, unit in parts if number)
