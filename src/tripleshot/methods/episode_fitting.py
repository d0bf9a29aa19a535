"""How GMatching, FSRL and FAAN are fitted: an episode of one relation at each step, by settings of equal names."""

from typing import Any

from tripleshot.dataset import FewShotDataset
from tripleshot.episodes import EpisodeSampler
from tripleshot.errors import InputError


def check_settings(settings: Any) -> None:  # noqa: ANN401 (each method has settings of its own)
    """Refuse shares that are none, and vectors that mean nothing and cannot learn."""
    for name in ("dropout", "encoder_dropout", "background_share"):
        if not 0 <= getattr(settings, name) <= 1:
            raise InputError(f"{name} is a share between 0 and 1, not {getattr(settings, name)}")
    if not settings.pretrained and not settings.fine_tune:
        raise InputError("vectors that start at random must learn: give --pretrained, or leave fine_tune on")


def sampler_of(settings: Any, dataset: FewShotDataset, shots: int) -> EpisodeSampler:  # noqa: ANN401
    """Return what draws the episodes that the settings ask for."""
    sizes = (shots, settings.batch_size, settings.num_negatives)
    return EpisodeSampler(dataset, *sizes, settings.regime, settings.background_share)
