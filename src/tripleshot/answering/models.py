"""Trained predictors: made by `train`, kept by `Predictor.save`, found again by `loading.load`."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tripleshot.answering.predictor import DEFAULT_SHOTS, Predictor
from tripleshot.answering.sources import graph_confidence
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import save_calibration
from tripleshot.methods import check_setting_names, create_method, find_method
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.trainable import UNIVERSAL, UNIVERSAL_NAME
from tripleshot.training.budget import Stopwatch, read_budget
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.fit import calibrate_run, fit, train_run
from tripleshot.training.runs import load_config
from tripleshot.training.tracking import Track, following
from tripleshot.training.updates import TrainingCallback, TrainingUpdate

logger = logging.getLogger(__name__)


def train(
    method: str,
    dataset: FewShotDataset | str | Path,
    *,
    shots: int = DEFAULT_SHOTS,
    budget: str | float | timedelta | None = None,
    preset: str = "fast",
    settings: Mapping[str, Any] | None = None,
    start: str | Path | None = None,
    folder: str | Path | None = None,
    with_graph: bool = False,
    resume: bool = False,
    device: str = "cpu",
    callback: TrainingCallback | None = None,
    track: Track | None = None,
) -> Predictor:
    """Train a method, choose its weights on the valid tasks, and return it ready to be measured and asked.

    It sees what it was trained on, so that `evaluate` measures the same that it answers: the triples of valid and test
    tasks are hidden. `Predictor(data, model)` is asked about every triple.

    Started by torchrun, it trains in all processes together; the first one writes the run and has a calibration.

    Args:
        method: its name; `list_methods()` has them all. One that does not learn is only prepared.
        dataset: background, train tasks to learn from, valid tasks to choose on; or the name or folder of one.
        shots: K, the number of examples per relation.
        budget: time to be ready in, such as "10m", in place of the preset's number of steps: preparing, training and
            calibration, but not reading the dataset.
        preset: where settings start from.
        settings: single settings in place of the preset's.
        start: what evidence-net starts from: "universal", the weights that come with the package, which is the default
            where the settings fit them; "scratch", random weights; or the folder of a run, on whatever graph. It never
            ends worse on the valid tasks than it began; without valid tasks it stays as it began.
        folder: where the run is kept, with checkpoints to resume from; None keeps it in memory until `save`.
        with_graph: keep the dataset in the folder, too, so that the run can be given away. One in memory always is.
        resume: go on with the run in the folder, with its own method, settings, shots and budget.
        device: where to compute.
        callback: is told about every step, and then about every query that is calibrated on.
        track: who follows the loss and the valid MRR: "tensorboard:FOLDER", "wandb:PROJECT", "notebook", an object with
            `log(values, step)`, or several of them. One that fails is left out, and the training goes on.
    """
    source = "" if isinstance(dataset, FewShotDataset) else str(dataset)
    data = dataset if isinstance(dataset, FewShotDataset) else load_dataset(dataset)
    kept = None if folder is None else Path(folder)
    chosen = {} if resume else start_with(method, _settings(method, preset, settings or {}), start)
    if chosen.get("pretrained") and not data.valid and _serves_any_graph(method):
        logger.warning("%s has no valid task to choose on: the weights stay as they begin", data.name)
        chosen["steps"], budget = 0, None
    seconds, watch = read_budget(budget), Stopwatch(calibrates=True)
    known = {"method": method, "dataset": data.name, "shots": shots, **chosen}
    with process_group(device), following(track, callback, known, kept) as told:
        if kept is None:
            trained = create_method(method, chosen, device)
            fit(trained, data, shots, budget=seconds, callback=told, watch=watch)
        else:
            about = {"data": source, "settings": chosen, "device": device, "resume": resume, "budget": seconds}
            about["with_graph"] = with_graph or not source
            trained = train_run(method, data, shots, kept, **about, callback=told, watch=watch)
            config = load_config(kept)
            method, shots = config.method, config.shots
        if rank() != 0:
            return Predictor.of(data, trained, method, shots, device=device)
        calibration = calibrate_run(trained, data, shots, kept, progress_of(callback), watch)
        if calibration is None and isinstance(trained, EvidenceNet) and trained.settings.pretrained == UNIVERSAL_NAME:
            calibration = graph_confidence(trained)
            if kept is not None and calibration is not None:
                save_calibration(calibration, kept)
    return Predictor.of(data, trained, method, shots, calibration, device)


def start_with(method: str, settings: dict[str, Any], start: str | Path | None) -> dict[str, Any]:
    """Return settings that say what a training starts from.

    Args:
        method: to train.
        settings: of the method.
        start: "universal", "scratch" or a run; None starts from the universal weights wherever these fit.
    """
    if not _serves_any_graph(method):
        if start is not None:
            raise InputError(f"{method} does not start from the network of another: only evidence-net does")
        return settings
    if start is not None:
        return {**settings, "pretrained": "" if str(start) == "scratch" else str(start)}
    shipped = load_config(UNIVERSAL).settings
    is_alike = all(settings[name] == shipped[name] for name in ("hidden_width", "text", "without_evidence"))
    return {**settings, "pretrained": UNIVERSAL_NAME} if is_alike and not settings["pretrained"] else settings


def _serves_any_graph(method: str) -> bool:
    entry = find_method(method)
    return entry.learns and entry.method_class().starts_from == "network"


def _settings(method: str, preset: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a method that learns, or those given of one that does not."""
    check_setting_names(method, given)
    entry = find_method(method)
    return asdict(replace(entry.preset(preset), **given)) if entry.learns else dict(given)


def progress_of(callback: TrainingCallback | None) -> Any:  # noqa: ANN401
    """Return a function that tells a callback about calibration as it is told about a stage of training."""
    if callback is None:
        return None
    return lambda done, total: callback(TrainingUpdate("calibrating", total, done, {}, -1.0, 0.0, 0.0))
