"""The trainer: stages of steps, validation, the best model kept, checkpoints, resume.

It knows no model. A stage gives losses for a step; what they depend on is the step, the weights and two random
generators of each process, all of which are in the checkpoint: a run that was stopped and resumed ends with the same
weights, to the bit, as one that was not (one thread, the same number of processes).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tripleshot.errors import TripleshotError
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import LossFunction, Stage
from tripleshot.training.averaging import WeightAverage
from tripleshot.training.batches import find_gradients
from tripleshot.training.budget import Budget, Stopwatch
from tripleshot.training.checkpoints import (
    TrainingProgress,
    load_average,
    load_checkpoint,
    save_checkpoint,
    save_weights,
)
from tripleshot.training.distributed import any_rank, broadcast, rank, wait_for_all, wrap_ddp
from tripleshot.training.interrupts import StopRequest
from tripleshot.training.log import LOG, shorten_log, write_log
from tripleshot.training.optimization import learning_rate, make_optimizers
from tripleshot.training.random_states import RandomStreams, gather_random_states
from tripleshot.training.updates import Curve, TrainingCallback, TrainingUpdate

CHECKPOINT = "checkpoint.safetensors"
LOG_EVERY = 100

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainerOptions:
    """How often to validate and save, and when to stop.

    Attributes:
        validate_every: steps between validations.
        patience: validations without a better one before training stops; 0 never stops early.
        checkpoint_every: steps between checkpoints.
        clip: largest norm of the gradient of the dense weights; 0 does not clip.
        batches_per_step: of each process; their gradients are averaged.
        averaging: decay of the average of the last stage's weights, which is kept in their place; 0 averages nothing.
    """

    validate_every: int = 1000
    patience: int = 10
    checkpoint_every: int = 500
    clip: float = 5.0
    batches_per_step: int = 1
    averaging: float = 0.0


ValidFunction = Callable[[int, Callable[[], bool] | None], Validation]
"""Validates the current weights: on so many heads, 0 for all, until the function tells that time is over."""


class StoppedError(TripleshotError):
    """The user stopped the training; everything is saved."""


class Trainer:
    """Runs stages over one module, writing into one folder."""

    def __init__(
        self,
        module: nn.Module,
        stages: list[Stage],
        folder: Path,
        seed: int,
        validate: ValidFunction,
        keep: Callable[[], None],
        options: TrainerOptions,
        callback: TrainingCallback | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        """Prepare a training.

        Args:
            module: what learns.
            stages: what it goes through.
            folder: where checkpoint and log are written.
            seed: of everything random.
            validate: ranks valid queries with the current weights.
            keep: saves the current weights as the best.
            options: intervals and patience.
            callback: is told about every step.
            watch: has counted since training was called. Its budget, if any, takes the place of the number of steps, of
                which only the proportions are kept. None counts from now on and goes by steps.
        """
        self.module, self.stages, self.folder, self.seed = module, stages, folder, seed
        self.validate, self.keep, self.options, self.callback = validate, keep, options, callback
        self.watch = watch or Stopwatch()
        self.progress, self._curve = TrainingProgress(), Curve()
        self.streams = RandomStreams(seed, options.batches_per_step)
        self.optimizers: list[torch.optim.Optimizer] = []
        self.average = WeightAverage(module, 0)
        self._stop = StopRequest()
        self._is_leader = rank() == 0

    def run(self, resume: bool = False) -> TrainingProgress:
        """Train to the end, from the beginning or from the last checkpoint."""
        path = self.folder / CHECKPOINT
        if resume and path.exists():
            self.optimizers, self.progress = load_checkpoint(path, self.module, self._optimizers_of, self.streams)
            self._begin_average()
            load_average(path, self.average)
            self.watch.go_on_from(self.progress.spent)
            self._say(logging.INFO, "resuming at %s", self._position())
            if self._is_leader:
                kept = self.progress.num_logged
                self._curve.go_on_from(shorten_log(self.folder / LOG, kept), kept)
        else:
            self.streams.begin()
            self.optimizers = self._optimizers_of(0)
            self._begin_average()
            self.progress.prepared = self.progress.stage_began = self._tick()
            if self._is_leader:
                write_log(self.folder / LOG, None)
        with self._stop.listening():
            while not self.progress.finished:
                self._run_stage(self.stages[self.progress.stage])
        wait_for_all()
        return self.progress

    def _run_stage(self, stage: Stage) -> None:
        state = self.progress
        seconds = self.watch.seconds
        limit = f"{seconds:,.0f} s for all stages" if seconds else f"{stage.steps:,} steps"
        self._say(logging.INFO, "stage %s begins at step %d: %s", stage.name, state.step, limit)
        for parameter in stage.frozen:
            parameter.requires_grad_(False)
        self.module.train()
        losses_of = wrap_ddp(self.module, stage.losses)
        budget = Budget(self.stages, state, self.options.validate_every, seconds, self.watch.reserved)
        is_unseen = stage.validates_first and not state.validations
        if state.is_validating or is_unseen:
            self._validate(budget)
        is_over = budget.is_over()
        while not is_over and not self._has_lost_patience(stage):
            started = self.watch.clock()
            losses = self._step(stage, losses_of, budget.position())
            state.loss_sums = {name: state.loss_sums.get(name, 0.0) + value for name, value in losses.items()}
            state.loss_count += 1
            state.step += 1
            self.average.update(state.step)
            state.seconds += self.watch.clock() - started
            self._tick()
            is_over = budget.is_over()
            if state.step % LOG_EVERY == 0 or is_over:
                self._log({"losses": {name: total / state.loss_count for name, total in state.loss_sums.items()}})
                state.loss_sums, state.loss_count = {}, 0
            if stage.validates and budget.is_time_to_validate():
                self._validate(budget)
                is_over = budget.is_over()
            self._tell(stage, losses)
            stop = any_rank(self._stop.is_made)
            if stop or state.step % self.options.checkpoint_every == 0:
                self._save()
            if stop:
                raise StoppedError(f"stopped at step {state.step} of {stage.name}; resume the run to go on (--resume)")
        self._finish_stage(stage)

    def _tick(self) -> float:
        """Take down what is spent, and return how much it is more. With a budget all processes go by one clock."""
        before, spent = self.progress.spent, self.watch.spent()
        self.progress.spent = broadcast(spent) if self.watch.seconds else spent
        return self.progress.spent - before

    def _tell(self, stage: Stage, losses: dict[str, float]) -> None:
        if self.callback and self._is_leader:
            state = self.progress
            told = (stage.name, stage.steps, state.step, losses, state.best_mrr, state.spent, self.watch.seconds)
            self.callback(TrainingUpdate(*told, self._curve.take()))

    def _step(self, stage: Stage, losses_of: LossFunction, position: float) -> dict[str, float]:
        step = self.progress.step
        rate = learning_rate(stage.schedule, stage.learning_rate, position, stage.steps, stage.warmup)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = rate
        losses = find_gradients(losses_of, step, self.streams, stage.name)
        if self.options.clip:
            dense = [p for p in self.module.parameters() if p.grad is not None and not p.grad.is_sparse]
            nn.utils.clip_grad_norm_(dense, self.options.clip)
        for optimizer in self.optimizers:
            optimizer.step()
        return losses

    def _validate(self, budget: Budget) -> None:
        """Validate the current weights; before the first time they are saved, as it may take long."""
        state, position = self.progress, budget.position()
        if not state.validations and not state.is_validating:
            state.is_validating = True
            self._save(keep=True)
            self._tick()
        self.module.eval()
        limit = self.watch.limit(budget.validation_time()) if self.watch.seconds else None
        with self.average.in_place():
            found = self.validate(state.valid_heads, limit)
        mrr, num_asked, is_best = found.mrr, found.num_asked, self._is_best(found)
        state.valid_heads = state.valid_heads or found.num_heads
        state.best_ranks = found.reciprocal_ranks.tolist() if is_best else state.best_ranks
        self.module.train()
        state.validating += self._tick()
        state.validations += 1
        state.validated_at, state.is_validating = position, False
        self._log({"valid_mrr": mrr, "queries": num_asked, "is_best": is_best})
        about = f"{self._position()}: valid MRR {mrr:.4f} on {num_asked:,} queries"
        self._say(logging.INFO, "%s%s", about, ", the best so far" if is_best else "")
        if is_best:
            state.best_mrr, state.best_step, state.worse_in_a_row = mrr, state.step, 0
            if self._is_leader:
                self._keep()
            self._say(logging.DEBUG, "best weights kept in %s", self.folder)
        else:
            state.worse_in_a_row += 1

    def _is_best(self, found: Validation) -> bool:
        best = np.array(self.progress.best_ranks)
        return found.is_better_than(best) if len(best) else found.mrr > self.progress.best_mrr

    def _has_lost_patience(self, stage: Stage) -> bool:
        return stage.validates and 0 < self.options.patience <= self.progress.worse_in_a_row

    def _finish_stage(self, stage: Stage) -> None:
        self.progress.loss_sums, self.progress.loss_count = {}, 0
        self._log({"finished": stage.name})
        early = f": no better in {self.options.patience} validations" if self._has_lost_patience(stage) else ""
        self._say(logging.INFO, "stage %s ends at step %d%s", stage.name, self.progress.step, early)
        if stage.finish is not None:
            stage.finish()
        if stage.keep_as and self._is_leader:
            save_weights(self.module, self.folder, stage.keep_as)
        if self.progress.stage + 1 < len(self.stages):
            self.progress.stage += 1
            self.progress.step = 0
            self.progress.stage_began, self.progress.validated_at = self.progress.spent, 0.0
            self.optimizers = self._optimizers_of(self.progress.stage)
            self._begin_average()
        else:
            self.progress.finished = True
        self._save(keep=self.progress.finished and self.progress.best_mrr < 0)

    def _optimizers_of(self, stage: int) -> list[torch.optim.Optimizer]:
        return make_optimizers(self.module, self.stages[stage].optimizer, self.stages[stage].learning_rate)

    def _begin_average(self) -> None:
        """Average what learns in the last stage, whose weights are kept."""
        stage, is_last = self.stages[self.progress.stage], self.progress.stage + 1 == len(self.stages)
        self.average = WeightAverage(self.module, self.options.averaging * is_last, stage.frozen)

    def _keep(self) -> None:
        with self.average.in_place():
            self.keep()

    def _save(self, keep: bool = False) -> None:
        """Write a checkpoint, and before it perhaps the weights as the best; take down how long it took."""
        started, random_states = self.watch.clock(), gather_random_states(self.streams)
        if self._is_leader:
            if keep:
                self._keep()
            learned = (self.module, self.average, self.optimizers)
            save_checkpoint(self.folder / CHECKPOINT, *learned, random_states, self.progress)
            self._say(logging.DEBUG, "checkpoint at %s", self._position())
        if self.watch.seconds:
            self.progress.saving = max(self.progress.saving, broadcast(self.watch.clock() - started))

    def _say(self, level: int, text: str, *values: object) -> None:
        """Tell the logger, in one process only."""
        if self._is_leader:
            logger.log(level, text, *values)

    def _position(self) -> str:
        return f"{self.stages[self.progress.stage].name}, step {self.progress.step}"

    def _log(self, row: dict[str, object]) -> None:
        if not self._is_leader:
            return
        state = self.progress
        stage = self.stages[state.stage].name
        clock = {"spent": round(state.spent, 2)} if self.watch.seconds else {}
        row = {"stage": stage, "step": state.step, "seconds": round(state.seconds, 2), **clock, **row}
        write_log(self.folder / LOG, row)
        self._curve.add(row)
        state.num_logged += 1
