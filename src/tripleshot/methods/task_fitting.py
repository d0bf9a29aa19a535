"""How a method that learns from batches of tasks is fitted: the same for MetaR and GANA, by settings of equal names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from tripleshot.checkpoints import WEIGHTS
from tripleshot.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.methods.fitting import Fitting
from tripleshot.task_batches import TaskBatchSampler
from tripleshot.training import Losses, Observer, Stage, Watching


def check_settings(settings: Any) -> None:  # noqa: ANN401 (each method has settings of its own)
    """Refuse settings whose queries cannot be shared out among the relations, or whose shares are none."""
    if settings.batch_size % settings.relations_per_step:
        raise InputError(f"relations_per_step must divide batch_size, {settings.batch_size}")
    for name in ("dropout", "background_share"):
        if not 0 <= getattr(settings, name) <= 1:
            raise InputError(f"{name} is a share between 0 and 1, not {getattr(settings, name)}")


def sampler_of(settings: Any, dataset: FewShotDataset, shots: int) -> TaskBatchSampler:  # noqa: ANN401
    """Return what draws the batches that the settings ask for."""
    num_queries = settings.batch_size // settings.relations_per_step
    sizes = (shots, settings.relations_per_step, num_queries, settings.num_negatives)
    return TaskBatchSampler(dataset, *sizes, settings.regime, settings.background_share)


def stage_of(
    settings: Any,  # noqa: ANN401
    losses: Callable[[int, np.random.Generator], Losses],
    validates: bool,
) -> Stage:
    """Return the one stage that training goes through."""
    pace = (settings.steps, settings.learning_rate, settings.schedule, settings.warmup)
    return Stage("episodes", losses, *pace, validates=validates)


def fitting_of(
    settings: Any,  # noqa: ANN401
    dataset: FewShotDataset,
    shots: int,
    folder: Path | None,
    resume: bool,
    observer: Observer | None,
) -> Fitting:
    """Return everything else that fitting needs to know."""
    watching = Watching(settings.validate_every, settings.patience, settings.checkpoint_every, settings.clip)
    return Fitting(dataset, shots, settings.valid_queries, settings.seed, watching, folder, resume, observer)


def trained_size(folder: Path, name: str) -> int:
    """Return how many rows some weights of a run have: what they were made for is not always in the settings."""
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            return file.get_slice(name).get_shape()[0]
    except (OSError, SafetensorError) as error:
        raise InputError(f"{folder / WEIGHTS}: not readable as weights of this method: {error}") from None
