"""Comparisons under equal conditions, variants of methods, and the paper's tables and figures."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.experiments.comparison import compare
    from tripleshot.experiments.comparison_table import Comparison

__all__ = ["Comparison", "compare"]

MODULES = {
    "Comparison": "tripleshot.experiments.comparison_table",
    "compare": "tripleshot.experiments.comparison",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first asked for."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
