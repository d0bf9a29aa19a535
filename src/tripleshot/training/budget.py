"""How long a stage of training lasts: so many steps, or its share of a budget of time.

A budget turns steps into time and keeps their proportions. A stage of a thousand steps that validates every hundred
validates ten times, whatever the budget: a tenth of the stage's time apart; a learning rate that falls over its steps
falls over its time. So every method, fast or slow, goes through its whole schedule in the same time.

The budget covers everything between a dataset in memory and weights that can be used: preparing the method, the stages
with their validations and checkpoints, and calibration where it follows. What is too slow for its share is cut short:
validations and calibration ask about fewer queries.
"""

import re
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from tripleshot.errors import InputError
from tripleshot.methods.trainable import Stage
from tripleshot.training.checkpoints import TrainingProgress

MAX_VALIDATING = 0.25  # of the time of a stage; validations that would take more wait
FIRST_VALIDATION = MAX_VALIDATING / 4  # of the time of a stage: how many queries fit into it are asked each time
LATER_VALIDATION = MAX_VALIDATING / 3  # more, as the same queries may take longer
CALIBRATING, MAX_CALIBRATING = 0.05, 60.0  # share of the budget that is kept free for it, and at most so many seconds
MIN_STEPS = 50  # fewer teach a network next to nothing
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}

Clock = Callable[[], float]
"""Returns seconds since some moment, as `time.perf_counter` does."""


class Stopwatch:
    """Counts what is spent of a budget, from the moment that it is made.

    Attributes:
        seconds: the budget; 0 for none.
        calibrates: whether the training is calibrated after its stages, within the budget.
        clock: what it goes by.
    """

    def __init__(self, seconds: float = 0.0, calibrates: bool = False, clock: Clock | None = None) -> None:
        """Start."""
        self.seconds, self.calibrates, self.clock = seconds, calibrates, clock or time.perf_counter
        self._began = self.clock()

    @property
    def reserved(self) -> float:
        """Seconds at the end of the budget that are kept free for calibration."""
        return min(CALIBRATING * self.seconds, MAX_CALIBRATING) if self.calibrates else 0.0

    def spent(self) -> float:
        """Return the seconds since the start, and those before it that it was told of."""
        return self.clock() - self._began

    def go_on_from(self, spent: float) -> None:
        """Take what a training had spent when it was stopped in place of what has been counted since the start."""
        self._began = self.clock() - spent

    def limit(self, seconds: float) -> Callable[[], bool]:
        """Return a function that tells whether so many seconds have passed since now."""
        end = self.clock() + seconds
        return lambda: self.clock() >= end

    def calibration_limit(self) -> Callable[[], bool] | None:
        """Return a function that tells whether to stop asking; None without a budget.

        Half of what is reserved is there even if a last step took it all. A fifth is left for the fit.
        """
        if not self.seconds:
            return None
        return self.limit(0.8 * max(self.seconds - self.spent(), self.reserved / 2))


class Budget:
    """Says where in its stage a training is.

    By steps, every step counts the same. By time, every second does, and stages share in proportion to their steps what
    preparing has left of the budget; a stage then ends when its time is up but for a last validation and a checkpoint,
    expected to take as long as those before.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        progress: TrainingProgress,
        validate_every: int,
        seconds: float = 0.0,
        reserved: float = 0.0,
    ) -> None:
        """Look at the stage that is running.

        Args:
            stages: all of the training's.
            progress: where it is.
            validate_every: steps between validations.
            seconds: the whole budget; 0 goes by steps.
            reserved: seconds of it for what comes after all stages.
        """
        stage = stages[progress.stage]
        self.steps, self.validates = stage.steps, stage.validates
        self.progress, self.validate_every, self.seconds = progress, validate_every, seconds
        share = sum(one.steps for one in stages[: progress.stage + 1]) / max(sum(one.steps for one in stages), 1)
        self.end = progress.prepared + share * (seconds - reserved - progress.prepared)

    def position(self) -> float:
        """Return how far the stage has come, from 0 to its number of steps."""
        state = self.progress
        if not self.seconds:
            return state.step
        used, given = state.spent - state.stage_began, self.end - state.stage_began
        return self.steps * min(1.0, used / given) if given > 0 else float(self.steps)

    def is_over(self) -> bool:
        """Tell whether the stage has come to its end; however late it is, a stage that has steps takes one."""
        state = self.progress
        if not self.seconds or not state.step:
            return state.step >= self.steps
        last = state.validating / state.validations if self.validates and state.validations else 0.0
        return state.spent + last + state.saving >= self.end

    def is_time_to_validate(self) -> bool:
        """Tell whether the interval between validations has passed, and they have not taken too much of the time.

        The first comes while there is still time for it; how long it takes tells when the last one must begin.
        """
        state = self.progress
        if not self.seconds:
            return state.step % self.validate_every == 0 or self.is_over()
        passed = self.position() // self.validate_every > state.validated_at // self.validate_every
        affordable = state.validating <= MAX_VALIDATING * (state.spent - state.stage_began)
        is_late = not state.validations and state.spent + self.validation_time() >= self.end
        return (passed and affordable) or is_late or self.is_over()

    def validation_time(self) -> float:
        """Return the seconds that the next validation may take."""
        share = LATER_VALIDATION if self.progress.validations else FIRST_VALIDATION
        return share * max(self.end - self.progress.stage_began, 0.0)


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
