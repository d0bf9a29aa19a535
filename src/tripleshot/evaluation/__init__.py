"""How well answers are ranked: the protocol, metrics, calibration, and results as files."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.evaluation.calibration import calibrate
    from tripleshot.evaluation.protocol import Evaluation, evaluate
    from tripleshot.evaluation.ranks import summarize

__all__ = ["Evaluation", "calibrate", "evaluate", "summarize"]

MODULES = {
    "Evaluation": "tripleshot.evaluation.protocol",
    "calibrate": "tripleshot.evaluation.calibration",
    "evaluate": "tripleshot.evaluation.protocol",
    "summarize": "tripleshot.evaluation.ranks",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first asked for."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)
