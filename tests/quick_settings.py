"""Settings of trainings that last a moment; methods of one kind share them."""

from typing import Any, TypeVar

from tripleshot.methods.fewshot.settings import MetaSettings, NeighborSettings

Neighbors = TypeVar("Neighbors", bound=NeighborSettings)
Meta = TypeVar("Meta", bound=MetaSettings)


def quick_neighbors(kind: type[Neighbors], **others: Any) -> Neighbors:
    """Return settings of GMatching, FSRL or FAAN."""
    return kind(
        width=8,
        dropout=0.2,
        max_neighbors=4,
        batch_size=16,
        steps=20,
        learning_rate=0.01,
        schedule="constant",
        warmup=0,
        validate_every=10,
        patience=0,
        checkpoint_every=8,
        **others,
    )


def quick_meta(kind: type[Meta], steps: int, **others: Any) -> Meta:
    """Return settings of MetaR or GANA, with two validations."""
    return kind(
        width=16,
        dropout=0.1,
        inner_rate=1.0,
        steps=steps,
        learning_rate=0.01,
        validate_every=steps // 2,
        patience=0,
        checkpoint_every=3 * steps // 8,
        **others,
    )
