"""What all methods that learn have in common: settings, a device, and how they are fitted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import nn

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset, check_shots
from tripleshot.errors import InputError
from tripleshot.methods.settings import LearningSettings
from tripleshot.training.fit import Fitting, fit_module
from tripleshot.training.optimizers import OptimizerKind
from tripleshot.training.trainer import LossFunction, Observer, Stage, Watching

SettingsType = TypeVar("SettingsType", bound=LearningSettings)
ModuleType = TypeVar("ModuleType", bound=nn.Module)


class Learner(ABC, Generic[SettingsType, ModuleType]):
    """A method that learns in stages and keeps the weights that were best on the valid tasks.

    Attributes:
        Settings: the class of its settings.
        presets: functions that return settings to start from, by name; `fast` is the usual one.
        settings: what it was made with.
        module: the network, made when the dataset is known.
    """

    Settings: ClassVar[Any]
    presets: ClassVar[Mapping[str, Callable[[], Any]]]
    settings: SettingsType
    module: ModuleType

    def __init__(self, settings: SettingsType | None = None, device: str = "cpu") -> None:
        """Choose settings, the fast preset by default."""
        self.settings = settings or self.presets["fast"]()
        self.device = _find_device(device)

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> Self:
        """Make the method from settings as a run keeps them."""
        return cls(cls.Settings(**settings), device)

    @abstractmethod
    def begin(self, dataset: FewShotDataset, shots: int, folder: Path | None) -> list[Stage]:
        """Make an untrained network, and return what its training goes through."""

    @abstractmethod
    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails for a head by the examples."""

    @abstractmethod
    def forget(self) -> None:
        """Drop what was computed with weights that have changed since."""

    def fit(
        self,
        dataset: FewShotDataset,
        shots: int,
        folder: Path | None = None,
        resume: bool = False,
        observer: Observer | None = None,
    ) -> None:
        """Train, and keep the weights that were best on the valid tasks.

        Args:
            dataset: background, train tasks to learn from, valid tasks to choose on.
            shots: K.
            folder: where weights, checkpoint and log go; None keeps nothing on disk.
            resume: go on from the checkpoint in the folder.
            observer: is told about every step.
        """
        check_shots(shots)
        settings = self.settings
        stages = self.begin(dataset, shots, folder)
        watching = Watching(settings.validate_every, settings.patience, settings.checkpoint_every, self.clip)
        fitting = Fitting(dataset, shots, settings.valid_queries, settings.seed, watching, folder, resume, observer)
        fit_module(self, self.module, stages, fitting, self.forget)

    @property
    def clip(self) -> float:
        """Largest gradient norm; 0 does not clip."""
        return self.settings.clip

    def stage(self, name: str, losses: LossFunction, validates: bool, optimizer: OptimizerKind = "adam") -> Stage:
        """Return a stage that goes at the pace of the settings."""
        settings = self.settings
        pace = (settings.steps, settings.learning_rate, settings.schedule, settings.warmup)
        return Stage(name, losses, *pace, validates=validates, optimizer=optimizer)


def _find_device(name: str) -> torch.device:
    """Return a device that is there: a name that torch knows may still be none of this machine."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} cannot be used here: {str(error).splitlines()[0]}") from None
    return torch.device(name)
