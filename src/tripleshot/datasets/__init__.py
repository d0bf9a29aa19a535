"""Few-shot tasks over a background graph: how they are made, checked, stored, downloaded and drawn from."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.datasets.catalog import load_dataset
    from tripleshot.datasets.dataset import FewShotDataset, Task
    from tripleshot.datasets.splitting import make_dataset

__all__ = ["FewShotDataset", "Task", "load_dataset", "make_dataset"]

MODULES = {
    "FewShotDataset": "tripleshot.datasets.dataset",
    "Task": "tripleshot.datasets.dataset",
    "load_dataset": "tripleshot.datasets.catalog",
    "make_dataset": "tripleshot.datasets.splitting",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first asked for: who needs one does not wait for the others."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
