"""Write a predictor into a folder that `load` reads."""

from pathlib import Path
from typing import TYPE_CHECKING

from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import save_calibration
from tripleshot.evaluation.results import command, commit
from tripleshot.methods import settings_of
from tripleshot.methods.trainable import TrainableMethod
from tripleshot.training.runs import CONFIG, DATA, RunConfig, save_config, save_names

if TYPE_CHECKING:
    from tripleshot.answering.predictor import Predictor


def save_predictor(predictor: "Predictor", folder: Path) -> None:
    """Write settings, weights, names, calibration and the dataset itself into a new folder."""
    if (folder / CONFIG).exists():
        raise InputError(f"{folder}: a run is there already; choose another folder")
    predictor.dataset.save(folder / DATA, overwrite=True)
    save_names(predictor.graph, folder)
    if isinstance(predictor.method, TrainableMethod):
        from tripleshot.training.checkpoints import save_weights  # nobody waits for torch who has no weights

        save_weights(predictor.method.module, folder)
    if predictor.calibration is not None:
        save_calibration(predictor.calibration, folder)
    about = (predictor.dataset.name, predictor.dataset.content_hash, command(), commit())
    config = RunConfig(predictor.name, settings_of(predictor.method), predictor.shots, DATA, *about)
    save_config(config, folder)
