"""How long a stage of training lasts: so many steps, or its share of a budget of time.

A budget turns steps into time and keeps their proportions. A stage of a thousand steps that validates every hundred
validates ten times, whatever the budget: a tenth of the stage's time apart; a learning rate that falls over its steps
falls over its time. So every method, fast or slow, goes through its whole schedule in the same time.
"""

from collections.abc import Sequence
from typing import Protocol

from tripleshot.training.checkpoints import TrainingProgress

MAX_VALIDATING = 0.25  # of the time of a stage; validations that would take more wait


class Paced(Protocol):
    """What a pace needs to know of a stage."""

    @property
    def steps(self) -> int:
        """How many it has, or, with a budget, how much of it is this stage's beside the others'."""
        ...

    @property
    def validates(self) -> bool:
        """Whether it has validations."""
        ...


class Pace(Protocol):
    """Says where in its stage a training is."""

    def position(self) -> float:
        """Return how far the stage has come, from 0 to its number of steps."""
        ...

    def is_over(self) -> bool:
        """Tell whether the stage has come to its end."""
        ...

    def is_time_to_validate(self) -> bool:
        """Tell whether the interval between validations has passed."""
        ...


class StepPace:
    """Every step counts the same."""

    def __init__(self, stages: Sequence[Paced], progress: TrainingProgress, validate_every: int) -> None:
        self.steps = stages[progress.stage].steps
        self.progress, self.validate_every = progress, validate_every

    def position(self) -> float:
        """Return the number of steps done."""
        return self.progress.step

    def is_over(self) -> bool:
        """Tell whether all steps are done."""
        return self.progress.step >= self.steps

    def is_time_to_validate(self) -> bool:
        """Tell whether the interval has passed with this step, or the last step is done."""
        return self.progress.step % self.validate_every == 0 or self.is_over()


class TimePace:
    """Every second counts the same; stages share the budget in proportion to their steps.

    A stage ends when its time is up but for a last validation, expected to take as long as the others did on average.
    """

    def __init__(self, stages: Sequence[Paced], progress: TrainingProgress, validate_every: int, budget: float) -> None:
        stage = stages[progress.stage]
        self.steps, self.validates = stage.steps, stage.validates
        share = sum(stage.steps for stage in stages[: progress.stage + 1]) / sum(stage.steps for stage in stages)
        self.end = budget * share
        self.progress, self.validate_every = progress, validate_every

    def position(self) -> float:
        """Return the share of the stage's time that is used, as if it were steps."""
        used, given = self.progress.spent - self.progress.stage_began, self.end - self.progress.stage_began
        return self.steps * min(1.0, used / given) if given > 0 else float(self.steps)

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        state = self.progress
        last = state.validating / state.validations if self.validates and state.validations else 0.0
        return state.spent + last >= self.end

    def is_time_to_validate(self) -> bool:
        """Tell whether the interval has passed and validations have not taken too much time, or the time is up."""
        state = self.progress
        passed = self.position() // self.validate_every > state.validated_at // self.validate_every
        affordable = state.validating <= MAX_VALIDATING * (state.spent - state.stage_began)
        return (passed and affordable) or self.is_over()


def pace_of(stages: Sequence[Paced], progress: TrainingProgress, validate_every: int, budget: float) -> Pace:
    """Return the pace of the stage that is running.

    Args:
        stages: all of the training's.
        progress: where it is.
        validate_every: steps between validations.
        budget: seconds, for all stages together; 0 goes by steps.
    """
    if not budget:
        return StepPace(stages, progress, validate_every)
    return TimePace(stages, progress, validate_every, budget)
