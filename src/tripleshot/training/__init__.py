"""The trainer, its budget, and runs on disk. `fit` trains a method; it is imported from the module of the same name."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.training.budget import read_budget, write_budget
    from tripleshot.training.fit import calibrate_run, train_run
    from tripleshot.training.runs import RunConfig, load_config, load_run
    from tripleshot.training.trainer import StoppedError, TrainingCallback, TrainingUpdate

__all__ = [
    "RunConfig",
    "StoppedError",
    "TrainingCallback",
    "TrainingUpdate",
    "calibrate_run",
    "load_config",
    "load_run",
    "read_budget",
    "train_run",
    "write_budget",
]

MODULES = {
    "RunConfig": "tripleshot.training.runs",
    "StoppedError": "tripleshot.training.trainer",
    "TrainingCallback": "tripleshot.training.trainer",
    "TrainingUpdate": "tripleshot.training.trainer",
    "calibrate_run": "tripleshot.training.fit",
    "load_config": "tripleshot.training.runs",
    "load_run": "tripleshot.training.runs",
    "read_budget": "tripleshot.training.budget",
    "train_run": "tripleshot.training.fit",
    "write_budget": "tripleshot.training.budget",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first asked for: torch takes longer than all the rest."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
