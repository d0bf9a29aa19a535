"""Trained predictors: made by `train`, kept by `Predictor.save`, found again by `loading.load`."""

from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tripleshot.answering.predictor import DEFAULT_SHOTS, Predictor
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.methods import create_method, find_method
from tripleshot.training.budget import read_budget
from tripleshot.training.fit import calibrate_run, fit, train_run
from tripleshot.training.runs import load_config
from tripleshot.training.trainer import TrainingCallback


def train(
    method: str,
    dataset: FewShotDataset | str | Path,
    *,
    shots: int = DEFAULT_SHOTS,
    budget: str | float | timedelta | None = None,
    preset: str = "fast",
    settings: dict[str, Any] | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    device: str = "cpu",
    callback: TrainingCallback | None = None,
) -> Predictor:
    """Train a method, choose its weights on the valid tasks, and return it ready to be asked.

    Args:
        method: its name; `list_methods()` has them all. One that does not learn is only prepared.
        dataset: background, train tasks to learn from, valid tasks to choose on; or the name or folder of one.
        shots: K, the number of examples per relation.
        budget: time to train in, such as "10m", in place of the preset's number of steps.
        preset: where settings start from.
        settings: single settings in place of the preset's.
        folder: where the run is kept, with checkpoints to resume from; None keeps it in memory until `save`.
        resume: go on with the run in the folder.
        device: where to compute.
        callback: is told about every step.
    """
    data = dataset if isinstance(dataset, FewShotDataset) else load_dataset(str(dataset))
    entry = find_method(method)
    chosen = settings or {}
    if entry.learns:
        base = entry.preset(preset)
        if unknown := chosen.keys() - entry.setting_names():
            raise InputError(f"{method} has no setting {', '.join(sorted(unknown))}")
        chosen = asdict(replace(base, **chosen))
    seconds = read_budget(budget)
    if folder is None:
        trained = create_method(method, chosen, device)
        fit(trained, data, shots, budget=seconds, callback=callback)
        calibration = calibrate_run(trained, data, shots)
    else:
        kept = {"data": "" if isinstance(dataset, FewShotDataset) else str(dataset), "device": device}
        folder = Path(folder)
        trained = train_run(
            method, data, shots, folder, **kept, settings=chosen, resume=resume, budget=seconds, callback=callback
        )
        shots = load_config(folder).shots
        calibration = calibrate_run(trained, data, shots, folder)
    return Predictor.of(data, trained, method, shots, calibration, device)
