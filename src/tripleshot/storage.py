"""What a run is, on disk: method, settings, and the hash of the data its weights belong to.

Ids follow from the data. Weights on another copy's ids would be scrambled without anyone noticing, so a run refuses
data with another hash.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tripleshot.atomic import write_file
from tripleshot.dataset import FewShotDataset
from tripleshot.dataset_files import content_hash
from tripleshot.errors import InputError

CONFIG = "config.json"


@dataclass(frozen=True)
class RunConfig:
    """What a run is.

    Attributes:
        method: its name in the table of methods.
        settings: the method's settings.
        shots: K it was trained for.
        data: the dataset as the user named it; `dataset` is its own name.
        data_hash: of its content: the weights fit this vocabulary and no other.
        command: that trained it.
        commit: of the source that trained it.
    """

    method: str
    settings: dict[str, Any]
    shots: int
    data: str
    dataset: str
    data_hash: str
    command: str
    commit: str | None


def save_config(config: RunConfig, folder: Path) -> None:
    """Write what the run is."""
    write_file(folder / CONFIG, (json.dumps(asdict(config), indent=1) + "\n").encode())


def load_config(folder: Path) -> RunConfig:
    """Read what a run is."""
    path = folder / CONFIG
    try:
        return RunConfig(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder}: not a run, it has no {CONFIG}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not readable: {error}") from None


def require_same_data(config: RunConfig, dataset: FewShotDataset) -> None:
    """Refuse a dataset that the run was not trained on."""
    found = content_hash(dataset)
    if found != config.data_hash:
        raise InputError(
            f"the run was trained on {config.dataset} {config.data_hash[:12]}…, "
            f"this is {dataset.name} {found[:12]}…: the weights would not fit its ids"
        )
