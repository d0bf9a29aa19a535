"""What every method that learns step by step has to be told."""

from dataclasses import dataclass, fields

from tripleshot.errors import InputError
from tripleshot.training.schedules import Schedule

AT_LEAST_ONE = (
    "validate_every",
    "checkpoint_every",
    "batch_size",
    "pretraining_batch_size",
    "batch_contexts",
    "relations_per_step",
    "num_negatives",
    "num_layers",
    "num_heads",
    "width",
    "hidden_width",
    "lstm_width",
    "max_neighbors",
)
"""Settings, of whatever method, that 0 makes no sense for; no other number is negative, either."""

SHARES = ("dropout", "_share")  # how the names of numbers between 0 and 1 end


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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float):
                _check_number(field.name, value)
        num_queries, num_relations = (getattr(self, name, 1) for name in ("batch_size", "relations_per_step"))
        if num_queries % num_relations:
            raise InputError(f"relations_per_step must divide batch_size, {num_queries}")


def _check_number(name: str, value: float) -> None:
    """Refuse what makes no sense before hours are spent on it."""
    if name.endswith(SHARES) and not 0 <= value <= 1:
        raise InputError(f"{name} is a share between 0 and 1, not {value}")
    least = int(name in AT_LEAST_ONE)
    if not least <= value < float("inf"):
        raise InputError(f"{name} must be {least} or more, not {value}")
