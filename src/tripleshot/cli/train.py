"""`tripleshot train`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import torch
from cyclopts import Parameter
from cyclopts.types import PositiveInt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tripleshot.cli.display import console, progress_bar
from tripleshot.cli.options import choose_settings, overrides_of
from tripleshot.datasets.catalog import load_dataset
from tripleshot.methods import find_method, find_methods
from tripleshot.training.budget import read_budget
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.fit import calibrate_run, train_run
from tripleshot.training.runs import load_config
from tripleshot.training.trainer import TrainingUpdate

Overrides = overrides_of({name: entry.settings for name, entry in find_methods().items() if entry.learns})
AS_THEY_ARE = Overrides()


class TrainingDisplay:
    """Live progress of a training: stage, steps or time, loss, best valid MRR, speed and time left."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=None, note="", done="")
        self.stage = ""

    def __call__(self, update: TrainingUpdate) -> None:
        """Show a step."""
        if update.stage != self.stage:
            self.stage = update.stage
            self.progress.reset(self.task, total=update.steps, completed=update.step, description=update.stage)
        best = f"  best valid MRR {update.best_mrr:.3f}" if update.best_mrr >= 0 else ""
        note = "  ".join(f"{name} {value:.3f}" for name, value in update.losses.items()) + best
        if update.budget:
            times = (timedelta(seconds=int(seconds)) for seconds in (update.spent, update.budget))
            done, note = " of ".join(map(str, times)), f"{note}  step {update.step:,}"
            self.progress.update(self.task, completed=update.spent, total=update.budget, done=done, note=note)
        else:
            speed = self.progress.tasks[0].speed or 0.0
            done, note = f"{update.step}/{update.steps}", f"{note}  {speed:.1f} steps/s"
            self.progress.update(self.task, completed=update.step, done=done, note=note)


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
    entry = find_method(found.method if found else method)
    settings_given = None
    if entry.learns and found is None:
        settings_given = asdict(choose_settings(entry.preset(preset), config, settings, method))
    with process_group(device):
        with training_display() as display:
            trained = train_run(
                method,
                dataset,
                shots,
                run,
                data=data,
                settings=settings_given,
                device=device,
                resume=resume,
                budget=read_budget(budget),
                callback=display,
            )
        if rank() != 0:
            return
        with progress_bar("calibrating") as progress:
            calibrate_run(trained, dataset, found.shots if found else shots, run, progress)
    if entry.learns:
        console.print(f"trained; try: tripleshot evaluate {data} --run {run}")
    else:
        console.print(f"{method} needs no training; try: tripleshot ask {run} --help")
