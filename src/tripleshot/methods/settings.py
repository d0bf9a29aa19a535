"""Settings of methods that learn: each carries its bounds and its help, from which checks and flags are made."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

from tripleshot.errors import InputError

Schedule = Literal["stepwise", "once", "linear", "constant"]
"""How the learning rate goes down; see `training.optimization`."""

OptimizerKind = Literal["adam", "adagrad"]
"""What updates the weights."""

HELP, AT_LEAST, AT_MOST = "help", "at_least", "at_most"


def setting(default: Any, help: str, *, at_least: float = 0, at_most: float = float("inf")) -> Any:  # noqa: ANN401
    """Return a field of a settings class: its default, one sentence of help, and the bounds of a number.

    A subclass that only changes the default writes `name: type = default`; help and bounds stay.
    """
    return field(default=default, metadata={HELP: help, AT_LEAST: at_least, AT_MOST: at_most})


def share(default: float, help: str) -> Any:  # noqa: ANN401
    """Return a field for a number between 0 and 1."""
    return setting(default, help, at_most=1)


def count(default: int, help: str) -> Any:  # noqa: ANN401
    """Return a field for a number that must be 1 or more."""
    return setting(default, help, at_least=1)


def described_fields(settings: type) -> Iterator[tuple[Field, dict[str, Any]]]:
    """Give each field of a settings class with its metadata, which may stand in a class that it inherits from."""
    ancestors = [kind.__dict__.get("__dataclass_fields__", {}) for kind in settings.__mro__]
    for own in fields(settings):
        described = (known[own.name].metadata for known in ancestors if own.name in known)
        yield own, dict(next((metadata for metadata in described if HELP in metadata), {}))


@dataclass(frozen=True)
class TrainingSettings:
    """How long, how fast and how carefully watched a training is."""

    steps: int = setting(10_000, "training steps")
    learning_rate: float = setting(1e-3, "of the optimizer, which is Adam unless a setting says otherwise")
    batches_per_step: int = count(1, "of each process; their gradients are averaged, as those of processes are")
    schedule: Schedule = setting("linear", "how the learning rate goes down")
    warmup: int = setting(200, "steps over which it rises")
    averaging: float = share(
        0.0, "decay of an average of the weights, which is validated and kept in their place; 0 keeps the last ones"
    )
    clip: float = setting(0.0, "largest gradient norm; 0 does not clip")
    validate_every: int = count(1000, "steps between validations")
    valid_queries: int = setting(500, "valid queries per validation, the same ones each time; 0 takes all")
    patience: int = setting(5, "validations without a better one before training stops; 0 never stops early")
    checkpoint_every: int = count(1000, "steps between checkpoints")
    seed: int = setting(0, "of everything random")

    def __post_init__(self) -> None:
        for own, described in described_fields(type(self)):
            value = getattr(self, own.name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                check_bounds(own.name, value, described.get(AT_LEAST, 0), described.get(AT_MOST, float("inf")))
        num_queries, num_relations = (getattr(self, name, 1) for name in ("batch_size", "relations_per_step"))
        if num_queries % num_relations:
            raise InputError(f"relations_per_step must divide batch_size, {num_queries}")


def check_bounds(name: str, value: float, at_least: float, at_most: float = float("inf")) -> None:
    """Refuse a number that makes no sense before hours are spent on it."""
    if at_most == 1 and not at_least <= value <= at_most:
        raise InputError(f"{name} is a share between 0 and 1, not {value}")
    if not at_least <= value < float("inf") or value > at_most:
        bounds = f"{at_least:g} or more" if at_most == float("inf") else f"between {at_least:g} and {at_most:g}"
        raise InputError(f"{name} must be {bounds}, not {value}")
