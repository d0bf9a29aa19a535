"""Who follows a training: TensorBoard, Weights & Biases, a plot in a notebook, or any object with `log`.

A tracker is told the points of the curves as they stand in the log. One that fails is left out with a warning, and the
training goes on. The first process of a training tells them, and no other.
"""

import json
import logging
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tripleshot.errors import InputError, did_you_mean, warn
from tripleshot.files.atomic import write_file
from tripleshot.training.curve_plot import draw_curves
from tripleshot.training.updates import CurvePoint, TrainingCallback, TrainingUpdate

WANDB_ID = "wandb.json"  # in the folder of a run, which run of Weights & Biases it is
KINDS = ("tensorboard", "wandb", "notebook")

logger = logging.getLogger(__name__)


@runtime_checkable
class Tracker(Protocol):
    """Whatever takes numbers by name, such as a run of Weights & Biases."""

    def log(self, values: dict[str, float], step: int) -> object:
        """Take the numbers of a step."""
        ...


Track: TypeAlias = str | Tracker | Sequence[str | Tracker]
"""One who follows, or several: "tensorboard:FOLDER", "wandb:PROJECT", "notebook", or an object with `log`."""


class Follower(Protocol):
    """One who follows a training from its first point."""

    def tell(self, points: Sequence[CurvePoint]) -> None:
        """Take the next points; the first time, all from the beginning."""
        ...

    def close(self) -> None:
        """Finish."""
        ...


class ObjectFollower:
    """Tells an object each point once, also if the training was resumed."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker

    def tell(self, points: Sequence[CurvePoint]) -> None:
        """Tell the points that are new."""
        for point in points:
            if point.is_new:
                self.tracker.log(point.values, step=point.step)

    def close(self) -> None:
        """Leave the object to its owner."""


class TensorBoardFollower:
    """Writes event files into a folder; what a training wrote there before it was resumed is written again."""

    def __init__(self, folder: Path) -> None:
        _require("tensorboard", "tensorboard")
        self.folder = folder
        self.writer: Any = None

    def tell(self, points: Sequence[CurvePoint]) -> None:
        """Write points to the disk."""
        from torch.utils.tensorboard import SummaryWriter  # an extra

        if self.writer is None:
            is_resumed = not all(point.is_new for point in points)
            self.writer = SummaryWriter(str(self.folder), purge_step=0 if is_resumed else None)
        for point in points:
            for name, value in point.values.items():
                self.writer.add_scalar(name, value, point.step)
        self.writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self.writer is not None:
            self.writer.close()


class WandbFollower:
    """Tells a run of Weights & Biases, which a training that is resumed goes on with.

    Where it is offline, each part of a training has the whole curve up to its end.
    """

    def __init__(self, project: str, about: Mapping[str, Any], folder: Path | None) -> None:
        _require("wandb", "wandb")
        self.project, self.about, self.folder = project, dict(about), folder
        self.run: Any = None

    def tell(self, points: Sequence[CurvePoint]) -> None:
        """Log what the run does not have yet."""
        import wandb  # an extra

        if self.run is None:
            known = {"project": self.project, "id": _wandb_id(self.folder), "config": self.about}
            settings = wandb.Settings(console="off")  # the terminal is ours
            self.run = wandb.init(**known, resume="allow", settings=settings)
        for point in points:
            if point.step >= self.run.step:
                self.run.log(point.values, step=point.step)

    def close(self) -> None:
        """Send the rest, and end the run."""
        if self.run is not None:
            self.run.finish()


class NotebookFollower:
    """Draws the curves below the cell of a notebook that trains."""

    def __init__(self) -> None:
        _require("IPython", "", "it draws in a notebook, and this is none")
        self.points: list[CurvePoint] = []
        self.shown: Any = None

    def tell(self, points: Sequence[CurvePoint]) -> None:
        """Draw all points in place of the picture before."""
        from IPython.display import HTML, display  # whoever has a notebook has it

        self.points += points
        drawn = HTML(draw_curves(self.points))
        if self.shown is None:
            self.shown = display(drawn, display_id=True)
        else:
            self.shown.update(drawn)

    def close(self) -> None:
        """Leave the picture as it is."""


class Followers:
    """A callback that tells those who follow, and whoever else was to be told."""

    def __init__(self, followers: Mapping[str, Follower], callback: TrainingCallback | None) -> None:
        self.followers, self.callback = dict(followers), callback

    def __call__(self, update: TrainingUpdate) -> None:
        """Tell about a step."""
        if self.callback is not None:
            self.callback(update)
        if update.points:
            self._each(lambda follower: follower.tell(update.points))

    def close(self) -> None:
        """Close those who are still following."""
        self._each(lambda follower: follower.close())

    def _each(self, act: Any) -> None:  # noqa: ANN401 (a function of a follower)
        for name, follower in list(self.followers.items()):
            try:
                act(follower)
            except Exception as error:  # whatever goes wrong in a tracker is no reason to lose a training
                del self.followers[name]
                with suppress(Exception):
                    follower.close()
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                _warn(f"{name} no longer follows the training, which goes on: {reason}")


@contextmanager
def following(
    track: Track | None,
    callback: TrainingCallback | None = None,
    about: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> Iterator[TrainingCallback | None]:
    """Give a callback for a training that tells everyone, and close them when it has ended.

    Args:
        track: who follows; see `Track`. A name that is not known, or a package that is missing, is an error at once.
        callback: is told, too.
        about: what to keep with the curves, such as the settings.
        folder: of the run, which remembers what it is called at Weights & Biases.
    """
    chosen = [] if track is None else [track] if isinstance(track, str | Tracker) else list(track)
    if not chosen:
        yield callback
        return
    names = [one if isinstance(one, str) else f"track[{place}]" for place, one in enumerate(chosen)]
    found = {name: _follower(one, about or {}, folder) for name, one in zip(names, chosen, strict=True)}
    followers = Followers(found, callback)
    try:
        yield followers
    finally:
        followers.close()


def _follower(track: object, about: Mapping[str, Any], folder: Path | None) -> Follower:
    if not isinstance(track, str):
        if not isinstance(track, Tracker):
            raise InputError(f"track: {type(track).__name__} has no method log(values, step)")
        return ObjectFollower(track)
    kind, _, place = track.partition(":")
    if kind not in KINDS:
        raise InputError(f"track: {kind!r} is none of {', '.join(KINDS)}{did_you_mean(kind, KINDS)}")
    if kind == "notebook":
        return NotebookFollower()
    if not place:
        raise InputError(f"track: {kind} needs {'a folder' if kind == 'tensorboard' else 'a project'}, as in {kind}:my")
    return TensorBoardFollower(Path(place)) if kind == "tensorboard" else WandbFollower(place, about, folder)


def _warn(message: str) -> None:
    try:
        warn(message)
    except Warning:  # where warnings are errors the training goes on all the same
        logger.warning("%s", message)


def _require(package: str, extra: str, otherwise: str = "") -> None:
    if find_spec(package) is None:
        missing = f"{package} is not installed: pip install 'tripleshot[{extra}]'"
        raise InputError(f"track: {otherwise or missing}")


def _wandb_id(folder: Path | None) -> str:
    """Return what the run in a folder is called at Weights & Biases; a new name is kept there."""
    if folder is None:
        return secrets.token_hex(4)
    path = folder / WANDB_ID
    try:
        known = json.loads(path.read_text(encoding="utf-8"))["id"]
    except (OSError, ValueError, KeyError, TypeError):
        known = ""
    if not isinstance(known, str) or not re.fullmatch(r"[\w-]{1,64}", known):
        known = secrets.token_hex(4)
        write_file(path, json.dumps({"id": known}).encode())
    return known
