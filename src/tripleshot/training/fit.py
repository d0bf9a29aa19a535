"""Training a method: its stages are run, the valid tasks decide which weights are kept, a folder remembers.

One function for the command line, for comparisons and for Python.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from tripleshot.datasets.catalog import absolute_source, relative_source
from tripleshot.datasets.dataset import FewShotDataset, check_shots
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import CALIBRATION, MAX_SCORES, Calibration, calibrate, save_calibration
from tripleshot.evaluation.protocol import sample_queries
from tripleshot.evaluation.results import command, commit
from tripleshot.evaluation.validation import Validation, Validator
from tripleshot.files.atomic import remove_abandoned, restored
from tripleshot.files.locks import folder_lock
from tripleshot.methods import create_method, settings_of
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import PRETRAINED, WEIGHTS, Stage, TrainableMethod
from tripleshot.training.batches import DivergedError
from tripleshot.training.budget import MIN_STEPS, Stopwatch, write_budget
from tripleshot.training.checkpoints import load_weights, save_weights
from tripleshot.training.distributed import rank, team, wait_for_all
from tripleshot.training.log import LOG, steps_of, write_log
from tripleshot.training.runs import (
    CONFIG,
    DATA,
    VOCABULARY,
    RunConfig,
    load_config,
    load_start,
    require_same_data,
    save_config,
    save_names,
)
from tripleshot.training.tracking import WANDB_ID
from tripleshot.training.trainer import CHECKPOINT, Trainer, TrainerOptions
from tripleshot.training.updates import TrainingCallback

logger = logging.getLogger(__name__)

WEIGHT_FILES = (WEIGHTS, PRETRAINED, CHECKPOINT)
FILES = (CONFIG, VOCABULARY, *WEIGHT_FILES, LOG, CALIBRATION, DATA, WANDB_ID)  # what a training writes
VALID_SEED = 0  # the valid queries of a validation are the same for every run, so that their curves can be compared


class Learner(Protocol):
    """What has a network that learns in stages."""

    settings: Any

    @property
    def module(self) -> Any:  # noqa: ANN401 (a network of torch)
        """What learns."""
        ...

    @property
    def clip(self) -> float:
        """Largest gradient norm; 0 does not clip."""
        ...

    def clear_cache(self) -> None:
        """Drop what was computed with weights that have changed since."""
        ...


def fit(
    method: Method,
    dataset: FewShotDataset,
    shots: int,
    folder: Path | None = None,
    *,
    resume: bool = False,
    budget: float = 0.0,
    callback: TrainingCallback | None = None,
    watch: Stopwatch | None = None,
) -> None:
    """Prepare a method for a dataset and, if it learns, train it and leave it with its best weights.

    Args:
        method: as `create_method` makes it.
        dataset: background, train tasks to learn from, valid tasks to choose on. The queries of the test tasks are
            never looked at.
        shots: K.
        folder: where weights, checkpoint and log go; None keeps nothing on disk.
        resume: go on from the checkpoint in the folder.
        budget: seconds to be ready in, preparing included, in place of the settings' number of steps; 0 goes by steps.
        callback: is told about every step.
        watch: counts what is spent of the budget; None begins now.
    """
    watch = watch or Stopwatch()
    watch.seconds = budget
    stages = _prepare(method, dataset, shots, folder, resume)
    if isinstance(method, TrainableMethod):
        run_stages(method, stages, _validator_of(method, dataset, shots), folder, resume, callback, watch)


def train_run(
    name: str,
    dataset: FewShotDataset,
    shots: int,
    folder: Path,
    *,
    data: str = "",
    settings: dict[str, Any] | None = None,
    device: str = "cpu",
    with_graph: bool = False,
    resume: bool = False,
    budget: float = 0.0,
    callback: TrainingCallback | None = None,
    watch: Stopwatch | None = None,
) -> Method:
    """Train a method into a folder that says what it is: `runs.load_run` loads it again.

    A method that does not learn makes a run, too. A training that fails leaves the folder as it was, unless it can be
    resumed from a checkpoint. Two trainings never write into one folder.

    Args:
        name: in the table of methods.
        dataset: to train on.
        shots: K.
        folder: to write.
        data: the dataset as the user named it; the run keeps the whole path of a folder or file.
        settings: of the method; None takes its `fast` preset.
        device: where to compute.
        with_graph: keep the dataset in the folder, too.
        resume: go on with the run in the folder, with its own method, settings, shots and budget.
        budget: seconds to be ready in, preparing included, in place of a number of steps; 0 goes by steps.
        callback: is told about every step.
        watch: counts what is spent of the budget; None begins now.
    """
    watch = watch or Stopwatch()
    with only_writer(folder):
        found = load_config(folder) if resume else None
        if found is not None:
            require_same_data(found, dataset)
            name, settings, shots, budget = found.method, found.settings, found.shots, found.budget
        elif (folder / CONFIG).exists():
            raise InputError(f"{folder}: a run is there already; choose another folder, or resume it")
        watch.seconds = budget
        method = create_method(name, settings, device)
        stages = _prepare(method, dataset, shots, folder, resume)
        wait_for_all()  # every process has seen that the folder is free
        with restored_after_failure(folder, resume):
            if rank() == 0:
                if found is None:
                    kept = (name, settings_of(method), shots, absolute_source(data))
                    origin = (dataset.name, dataset.content_hash, command(), commit())
                    spent = budget if isinstance(method, TrainableMethod) else 0.0
                    save_config(RunConfig(*kept, *origin, spent, relative_source(data, folder)), folder)
                if with_graph and not (folder / DATA).exists():
                    dataset.save(folder / DATA)
                save_names(method.graph, folder)
                if not isinstance(method, TrainableMethod):
                    write_log(folder / LOG, None)
            if isinstance(method, TrainableMethod):
                run_stages(method, stages, _validator_of(method, dataset, shots), folder, resume, callback, watch)
        return method


def only_writer(folder: Path) -> AbstractContextManager[None]:
    """Let no other training write into a folder, and remove what one that was killed has left there half written.

    Of several processes that train together the leader writes.
    """
    return _only_writer(folder) if rank() == 0 else nullcontext()


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    with folder_lock(folder):
        for path in (folder, *(folder / name for name in FILES)):
            remove_abandoned(path)
        yield


def restored_after_failure(folder: Path, resume: bool) -> AbstractContextManager[None]:
    """Leave a folder as it was if training fails, unless there is a checkpoint to resume from."""

    def can_resume(error: Exception) -> bool:
        return (folder / CHECKPOINT).exists() and not isinstance(error, DivergedError)

    return restored(folder, FILES, can_resume) if rank() == 0 and not resume else nullcontext()


def calibrate_run(
    method: Method,
    dataset: FewShotDataset,
    shots: int,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Stopwatch | None = None,
) -> Calibration | None:
    """Measure on the valid tasks how far scores can be trusted, and keep it with the run; None if they are too few.

    With a watch it keeps to the budget that the watch counts.
    """
    max_scores = MAX_SCORES if isinstance(method, TrainableMethod) else 10 * MAX_SCORES
    is_over = None if watch is None else watch.calibration_limit()
    calibration = calibrate(method, dataset, shots, max_scores, progress=progress, is_over=is_over)
    if calibration is None:
        logger.info("not calibrated: the valid tasks are too few")
        return None
    asked = (calibration.num_questions, calibration.num_tasks)
    logger.info("calibrated on %d questions of %d valid tasks, error %.3f", *asked, calibration.calibration_error)
    if folder is not None:
        save_calibration(calibration, folder)
    return calibration


def _prepare(method: Method, dataset: FewShotDataset, shots: int, folder: Path | None, resume: bool) -> list[Stage]:
    check_shots(shots)
    name, verb = type(method).__name__, "training" if isinstance(method, TrainableMethod) else "preparing"
    if rank() == 0:
        logger.info("%s %s on %s, %d-shot", verb, name, dataset.name, shots)
        logger.debug("settings of %s: %s", name, settings_of(method))
    method.prepare(dataset, shots)
    if not isinstance(method, TrainableMethod):
        return []
    is_begun = resume and folder is not None and (folder / CHECKPOINT).exists()
    start = getattr(method.settings, "pretrained", "")
    if start and not is_begun:
        method.start_from(load_start(method.starts_from, start, dataset))
        logger.info("%s starts from %s", name, start)
    return method.stages()


def _validator_of(method: TrainableMethod, dataset: FewShotDataset, shots: int) -> Validator:
    chosen = sample_queries(dataset, shots, method.settings.valid_queries, VALID_SEED)
    return Validator(method, chosen, shots, VALID_SEED, team())


def run_stages(
    learner: Learner,
    stages: list[Stage],
    validator: Validator | None,
    folder: Path | None,
    resume: bool,
    callback: TrainingCallback | None,
    watch: Stopwatch,
) -> None:
    """Train a network through its stages and leave it with the weights that were best on the valid tasks."""
    settings, module = learner.settings, learner.module

    def validate(num_heads: int, is_over: Callable[[], bool] | None) -> Validation:
        learner.clear_cache()
        assert validator is not None
        found = validator.validate(num_heads, is_over)
        learner.clear_cache()
        return found

    intervals = (settings.validate_every, settings.patience, settings.checkpoint_every)
    options = TrainerOptions(*intervals, learner.clip, settings.batches_per_step, settings.averaging)
    with tempfile.TemporaryDirectory() as temporary:
        kept = folder or Path(temporary)
        trainer = Trainer(
            module,
            stages,
            kept,
            settings.seed,
            validate,
            keep=lambda: save_weights(module, kept),
            options=options,
            callback=callback,
            watch=watch,
        )
        progress = trainer.run(resume)
        if progress.best_mrr >= 0 and rank() == 0:
            logger.info("the weights of step %d are kept, valid MRR %.4f", progress.best_step, progress.best_mrr)
        is_fine_tuned = any(stage.validates_first for stage in stages)  # few steps leave weights that were good before
        if watch.seconds and rank() == 0 and not is_fine_tuned:
            _warn_of_few_steps(kept, watch.seconds, progress.prepared)
        load_weights(module, kept)
    learner.clear_cache()
    module.eval()


def _warn_of_few_steps(folder: Path, seconds: float, prepared: float) -> None:
    """Say plainly that a training was too short to teach anything."""
    counts = [(stage, steps) for stage, steps in steps_of(folder).items() if steps < MIN_STEPS]
    few = [f"{steps} {'step' if steps == 1 else 'steps'} of {stage}" for stage, steps in counts]
    if few:
        logger.warning(
            "the weights are hardly trained: a budget of %s was enough for only %s (preparing took %.0f s); "
            "take a larger budget or a faster method",
            write_budget(seconds),
            " and ".join(few),
            prepared,
        )
