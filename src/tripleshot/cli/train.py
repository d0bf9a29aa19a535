"""`tripleshot train`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import torch
from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tripleshot.cli.display import console, progress_bar
from tripleshot.cli.options import choose_settings, overrides_of
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import MAX_SCORES, calibrate, save_calibration
from tripleshot.evaluation.results import command, commit
from tripleshot.methods import METHODS, find_method, make_method
from tripleshot.methods.protocol import Method, settings_of
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.fit import time_limit
from tripleshot.training.log import LOG, write_log
from tripleshot.training.runs import CONFIG, RunConfig, load_config, require_same_data, save_config, save_vocabulary
from tripleshot.training.trainer import Stage

Overrides = overrides_of({name: entry.settings for name, entry in METHODS.items() if entry.learns})
AS_THEY_ARE = Overrides()


class TrainingDisplay:
    """Live progress of a training: stage, steps or time, loss, best dev MRR, speed and time left."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=None, note="", done="")
        self.clock: tuple[float, float] | None = None

    def begin(self, stage: Stage, step: int) -> None:
        """Show another stage."""
        self.progress.reset(self.task, total=stage.steps, completed=step, description=stage.name)

    def pass_time(self, spent: float, budget: float) -> None:
        """Go by the time of a budget, over all stages."""
        self.clock = spent, budget

    def advance(self, step: int, losses: dict[str, float], best_mrr: float) -> None:
        """Show a step."""
        best = f"  best dev MRR {best_mrr:.3f}" if best_mrr >= 0 else ""
        note = "  ".join(f"{name} {value:.3f}" for name, value in losses.items()) + best
        if self.clock:
            spent, budget = self.clock
            done = f"{timedelta(seconds=int(spent))} of {timedelta(seconds=int(budget))}"
            note = f"{note}  step {step:,}"
            self.progress.update(self.task, completed=spent, total=budget, done=done, note=note)
        else:
            total, speed = self.progress.tasks[0].total or 0, self.progress.tasks[0].speed or 0.0
            note = f"{note}  {speed:.1f} steps/s"
            self.progress.update(self.task, completed=step, done=f"{step}/{total:.0f}", note=note)


@contextmanager
def training_display() -> Iterator[TrainingDisplay]:
    """Show a live line on the terminal, and nothing where there is none."""
    terminal = Console(stderr=True)
    texts = (TextColumn(f"{{task.fields[{name}]}}") for name in ("done", "note"))
    columns = (TextColumn("{task.description}"), BarColumn(), *texts)
    bar = Progress(*columns, TimeRemainingColumn(), console=terminal, disable=not terminal.is_terminal)
    with bar as progress:
        yield TrainingDisplay(progress)


def train_command(
    data: str,
    run: Path,
    *,
    method: str = "evidence-net",
    shots: PositiveInt = 5,
    preset: str = "fast",
    config: Path | None = None,
    settings: Annotated[Overrides, Parameter(name="*")] = AS_THEY_ARE,  # pyrefly: ignore
    budget: timedelta | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    device: str = "cpu",
    threads: PositiveInt | None = None,
) -> None:
    """Train a method on DATA and keep the weights that were best on the valid tasks in the folder RUN.

    Ctrl-C saves and stops; --resume goes on to the same result. To train in N processes:
    `torchrun --nproc-per-node N -m tripleshot train DATA RUN`.

    Parameters
    ----------
    data
        A dataset of the catalog, a folder or a file of triples.
    run
        The folder to write: config.json, vocabulary.arrow, weights.safetensors, log.jsonl, a checkpoint and, once it is
        trained, calibration.json, which turns scores into confidence.
    method
        What to train: our own unless you say otherwise, `rscl` for the paper's; `tripleshot methods` lists them. One
        that does not learn makes a run, too, that can be asked.
    shots
        K, the number of examples per relation.
    preset
        Where settings start from: `fast` for two CPU cores; RSCL also has `paper` and `wiki-one`, as published.
    config
        A TOML file with settings in place of the preset's.
    settings
        Single settings in place of the preset's and the file's.
    budget
        Time to train in, such as 20m or 1h30m, in place of a number of steps; validations and checkpoints count, and
        the learning rate, validations and patience follow the share of it that is used.
    resume
        Go on with the run in RUN, with the time that it had left.
    device
        cpu, cuda, cuda:1, mps, ...
    threads
        CPU threads; one makes a run repeatable to the bit.
    """
    if threads:
        torch.set_num_threads(threads)
    dataset = load_dataset(data)
    found = load_config(run) if resume else None
    if found is not None:
        require_same_data(found, dataset)
        method, shots = found.method, found.shots
    elif (run / CONFIG).exists():
        raise InputError(f"{run}: a run is there already; choose another folder, or --resume it")
    entry = find_method(method)
    if not entry.learns:
        keep_run(data, dataset, run, method, shots)
        console.print(f"{method} needs no training; try: tripleshot ask {run} --help")
        return
    chosen = found.settings if found else asdict(choose_settings(entry.preset(preset), config, settings, method))
    with process_group(device):
        seconds = found.budget if found else seconds_of(budget)
        train_run(data, dataset, run, method, shots, chosen, resume, device, seconds)
        if rank() == 0:
            console.print(f"trained; try: tripleshot evaluate {data} --run {run}")


def seconds_of(budget: timedelta | None) -> float:
    """Return a budget in seconds, 0 for none."""
    if budget is not None and budget <= timedelta(0):
        raise InputError("a budget is a time to train in: 20m, 1h30m, 90s")
    return budget.total_seconds() if budget else 0.0


def train_run(
    data: str,
    dataset: FewShotDataset,
    run: Path,
    method: str,
    shots: int,
    settings: dict[str, Any],
    resume: bool = False,
    device: str = "cpu",
    budget: float = 0.0,
) -> None:
    """Train into a folder, with live progress."""
    trained = find_method(method).make_with(settings, device)
    if rank() == 0:
        if not resume:
            _describe_run(data, dataset, run, method, shots, settings, budget)
        save_vocabulary(dataset.graph, run)
    with training_display() as display, time_limit(budget):
        trained.fit(dataset, shots, run, resume, display if rank() == 0 else None)
    if rank() == 0:
        calibrate_run(trained, dataset, run, shots)


def keep_run(data: str, dataset: FewShotDataset, run: Path, method: str, shots: int) -> None:
    """Make a run of a method that does not learn: it is fitted anew on the dataset whenever it is loaded."""
    fitted = make_method(method)
    fitted.fit(dataset, shots)
    _describe_run(data, dataset, run, method, shots, settings_of(fitted))
    write_log(run / LOG, None)
    calibrate_run(fitted, dataset, run, shots, 10 * MAX_SCORES)


def calibrate_run(method: Method, dataset: FewShotDataset, run: Path, shots: int, max_scores: int = MAX_SCORES) -> None:
    """Measure on the valid tasks how far scores can be trusted, and keep it with the run."""
    with progress_bar("calibrating") as progress:
        calibration = calibrate(method, dataset, shots, max_scores, progress=progress)
    if calibration is not None:
        save_calibration(calibration, run)


def _describe_run(
    data: str,
    dataset: FewShotDataset,
    run: Path,
    method: str,
    shots: int,
    settings: dict[str, Any],
    budget: float = 0.0,
) -> None:
    config = RunConfig(method, settings, shots, data, dataset.name, dataset.content_hash, command(), commit(), budget)
    save_config(config, run)
