"""What every method that learns step by step has to be told."""

from dataclasses import dataclass

from tripleshot.errors import InputError
from tripleshot.schedules import Schedule


@dataclass(frozen=True)
class LearningSettings:
    """How long, how fast and how carefully watched a training is.

    Attributes:
        steps: training steps.
        learning_rate: of the optimizer, which is Adam unless a setting says otherwise.
        schedule: how the learning rate goes down.
        warmup: steps over which it rises.
        clip: largest gradient norm; 0 does not clip.
        validate_every: steps between validations.
        valid_queries: dev queries of a validation, the same ones each time; 0 takes all.
        patience: validations without a better one before training stops; 0 never stops early.
        checkpoint_every: steps between checkpoints.
        seed: of everything random.
    """

    steps: int = 10_000
    learning_rate: float = 1e-3
    schedule: Schedule = "linear"
    warmup: int = 200
    clip: float = 0.0
    validate_every: int = 1000
    valid_queries: int = 500
    patience: int = 5
    checkpoint_every: int = 1000
    seed: int = 0

    def _check_shares(self, *names: str) -> None:
        for name in names:
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is a share between 0 and 1, not {getattr(self, name)}")
