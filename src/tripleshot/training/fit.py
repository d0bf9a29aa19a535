"""How a method that learns is fitted: stages of training, dev decides which weights are kept, a folder remembers."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.protocol import evaluate, sample_queries, summarize
from tripleshot.methods.protocol import Method
from tripleshot.training.checkpoints import load_weights, save_weights
from tripleshot.training.trainer import Observer, Stage, Trainer, Watching

DEV_SEED = 0  # the dev queries of a validation are the same for every run, so that their curves can be compared

_BUDGET: ContextVar[float] = ContextVar("budget", default=0.0)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Give every training in this block so many seconds in place of its number of steps; 0 limits nothing.

    A budget says nothing about what a method is, so it is no setting of one: it belongs to the circumstances.
    """
    token = _BUDGET.set(seconds)
    try:
        yield
    finally:
        _BUDGET.reset(token)


@dataclass(frozen=True)
class Fitting:
    """What fitting needs to know beside the stages.

    Attributes:
        dataset: valid tasks choose the weights.
        shots: K.
        valid_queries: dev queries of a validation, the same ones each time; 0 takes all.
        seed: of everything random.
        watching: how often to validate and save, when to stop.
        folder: where weights, checkpoint and log go; None keeps nothing on disk.
        resume: go on from the checkpoint in the folder.
        observer: is told about every step.
    """

    dataset: FewShotDataset
    shots: int
    valid_queries: int
    seed: int
    watching: Watching
    folder: Path | None = None
    resume: bool = False
    observer: Observer | None = None


def fit_module(
    method: Method,
    module: nn.Module,
    stages: list[Stage],
    fitting: Fitting,
    weights_changed: Callable[[], None] = lambda: None,
) -> None:
    """Train a module through its stages and leave it with the weights that were best on the valid tasks.

    Args:
        method: scores the dev queries with the module.
        module: what learns.
        stages: what it goes through.
        fitting: everything else.
        weights_changed: is called before and after a validation, so that the method can forget what it has cached.
    """
    chosen = sample_queries(fitting.dataset, fitting.shots, fitting.valid_queries, DEV_SEED)

    def validate() -> float:
        weights_changed()
        mrr = summarize(evaluate(method, chosen, fitting.shots, "valid").ranks).micro["mrr"]
        weights_changed()
        return mrr

    with tempfile.TemporaryDirectory() as temporary:
        folder = fitting.folder or Path(temporary)
        trainer = Trainer(
            module,
            stages,
            folder,
            fitting.seed,
            validate,
            keep=lambda: save_weights(module, folder),
            watching=replace(fitting.watching, budget=_BUDGET.get() or fitting.watching.budget),
            observer=fitting.observer,
        )
        trainer.run(fitting.resume)
        load_weights(module, folder)
    weights_changed()
    module.eval()
