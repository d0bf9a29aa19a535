"""Runs on disk as predictors: what `train` and `Predictor.save` have written, found again without a trainer."""

from pathlib import Path

from tripleshot.answering.predictor import DATA, Predictor
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import load_calibration
from tripleshot.methods import find_method
from tripleshot.training.runs import RunConfig, load_config, require_known_names, restore_method


def load(folder: str | Path, data: str | Path | FewShotDataset | None = None, device: str = "cpu") -> Predictor:
    """Return what `train` or `save` has written, ready to be asked.

    Args:
        folder: of the run.
        data: the dataset, if it is no longer where it was. It may have changed since: names are what counts.
        device: where to compute.
    """
    folder = Path(folder)
    config = load_config(folder)
    dataset = data if isinstance(data, FewShotDataset) else _find_dataset(folder, config, data)
    if find_method(config.method).learns:
        require_known_names(config, dataset, folder)
    method = restore_method(config, folder, dataset, device)
    return Predictor.of(dataset, method, config.method, config.shots, load_calibration(folder), device)


def _find_dataset(folder: Path, config: RunConfig, data: str | Path | None) -> FewShotDataset:
    own = folder / DATA
    if data is None and own.exists():
        return load_dataset(str(own))
    try:
        return load_dataset(str(data or config.data))
    except InputError as error:
        if data is not None:
            raise
        hint = "say where it is now: data=... in Python, --data on the command line"
        raise InputError(f"{error}; if the run's dataset has moved, {hint}") from None
