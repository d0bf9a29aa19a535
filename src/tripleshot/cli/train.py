"""`tripleshot train`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tripleshot.calibration import MAX_SCORES, calibrate, save_calibration
from tripleshot.catalog import load_dataset
from tripleshot.cli.evaluate import settings_of
from tripleshot.cli.settings import choose_settings, overrides_of
from tripleshot.cli.tables import console, progress_bar
from tripleshot.dataset import FewShotDataset
from tripleshot.dataset_files import content_hash
from tripleshot.distributed import process_group, rank
from tripleshot.errors import InputError
from tripleshot.method import Method
from tripleshot.methods import METHODS, find_method, make_method
from tripleshot.results import command, commit
from tripleshot.run_log import LOG, write_log
from tripleshot.storage import CONFIG, RunConfig, load_config, require_same_data, save_config, save_vocabulary
from tripleshot.training import Stage

Overrides = overrides_of({name: entry.settings for name, entry in METHODS.items() if entry.learns})
AS_THEY_ARE = Overrides()


class TrainingDisplay:
    """Live progress of a training: stage, steps, loss, best dev MRR, steps a second and time left."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=None, note="")

    def begin(self, stage: Stage, step: int) -> None:
        """Show another stage."""
        self.progress.reset(self.task, total=stage.steps, completed=step, description=stage.name)

    def advance(self, step: int, losses: dict[str, float], best_mrr: float) -> None:
        """Show a step."""
        speed = self.progress.tasks[0].speed or 0.0
        best = f"  best dev MRR {best_mrr:.3f}" if best_mrr >= 0 else ""
        note = "  ".join(f"{name} {value:.3f}" for name, value in losses.items())
        self.progress.update(self.task, completed=step, note=f"{note}{best}  {speed:.1f} steps/s")


@contextmanager
def training_display() -> Iterator[TrainingDisplay]:
    """Show a live line on the terminal, and nothing where there is none."""
    terminal = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    bar = Progress(*columns, TimeRemainingColumn(), console=terminal, disable=not terminal.is_terminal)
    with bar as progress:
        yield TrainingDisplay(progress)


def train_command(
    data: str,
    run: Path,
    *,
    method: str = "rscl",
    shots: int = 5,
    preset: str = "fast",
    config: Path | None = None,
    settings: Annotated[Overrides, Parameter(name="*")] = AS_THEY_ARE,
    resume: Annotated[bool, Parameter(negative=())] = False,
    device: str = "cpu",
    threads: int | None = None,
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
        What to train; `tripleshot methods` lists them. One that does not learn makes a run, too, that can be asked.
    shots
        K, the number of examples per relation.
    preset
        Where settings start from: `fast` for two CPU cores; RSCL also has `paper` and `wiki-one`, as published.
    config
        A TOML file with settings in place of the preset's.
    settings
        Single settings in place of the preset's and the file's.
    resume
        Go on with the run in RUN.
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
        train_run(data, dataset, run, method, shots, chosen, resume, device)
        if rank() == 0:
            console.print(f"trained; try: tripleshot evaluate {data} --run {run}")


def train_run(
    data: str,
    dataset: FewShotDataset,
    run: Path,
    method: str,
    shots: int,
    settings: dict[str, Any],
    resume: bool = False,
    device: str = "cpu",
) -> None:
    """Train into a folder, with live progress."""
    if rank() == 0:
        if not resume:
            _describe_run(data, dataset, run, method, shots, settings)
        save_vocabulary(dataset.graph, run)
    trained = find_method(method).make_with(settings, device)
    with training_display() as display:
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
    data: str, dataset: FewShotDataset, run: Path, method: str, shots: int, settings: dict[str, Any]
) -> None:
    save_config(RunConfig(method, settings, shots, data, dataset.name, content_hash(dataset), command(), commit()), run)
