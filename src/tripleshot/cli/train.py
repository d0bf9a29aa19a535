"""`tripleshot train`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import torch
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tripleshot.catalog import load_dataset
from tripleshot.cli.tables import console
from tripleshot.config import PRESETS, Overrides, RSCLSettings, read_settings
from tripleshot.dataset import FewShotDataset
from tripleshot.dataset_files import content_hash
from tripleshot.distributed import process_group, rank
from tripleshot.errors import InputError
from tripleshot.methods.rscl import RSCLMethod
from tripleshot.results import command, commit
from tripleshot.storage import CONFIG, RunConfig, load_config, require_same_data, save_config
from tripleshot.training import Stage

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
    method: Literal["rscl"] = "rscl",
    shots: int = 5,
    preset: Literal["fast", "paper", "wiki-one", "demo"] = "fast",
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
        The folder to write: config.json, weights.safetensors, log.jsonl and a checkpoint.
    method
        What to train.
    shots
        K, the number of examples per relation.
    preset
        Where settings start from: `fast` for two CPU cores, `paper` as published.
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
    if resume:
        found = load_config(run)
        require_same_data(found, dataset)
        chosen, shots = RSCLSettings(**found.settings), found.shots
    else:
        chosen = _choose(PRESETS[preset](), config, settings)
        if (run / CONFIG).exists():
            raise InputError(f"{run}: a run is there already; choose another folder, or --resume it")
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
    settings: RSCLSettings,
    resume: bool = False,
    device: str = "cpu",
) -> None:
    """Train into a folder, with live progress."""
    if not resume and rank() == 0:
        described = RunConfig(
            method, asdict(settings), shots, data, dataset.name, content_hash(dataset), command(), commit()
        )
        save_config(described, run)
    with training_display() as display:
        RSCLMethod(settings, device).fit(dataset, shots, run, resume, display if rank() == 0 else None)


def _choose(base: RSCLSettings, file: Path | None, flags: object) -> RSCLSettings:
    """Take the preset, then the file's values, then the flags."""
    chosen = read_settings(file, base) if file else base
    given = {name: value for name, value in vars(flags).items() if value is not None}
    return replace(chosen, **given)
