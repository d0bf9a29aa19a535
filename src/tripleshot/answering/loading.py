"""Runs on disk as predictors: what `train` and `Predictor.save` have written, found again without a trainer."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tripleshot.answering.predictor import DEFAULT_METHOD, Predictor
from tripleshot.answering.sources import as_dataset, is_run
from tripleshot.datasets.catalog import dataset_names, load_dataset, load_whole_graph
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, InputWarning, warn
from tripleshot.evaluation.calibration import load_calibration
from tripleshot.graph.readers import Literals
from tripleshot.methods import find_method
from tripleshot.training.runs import DATA, RunConfig, load_config, require_known_names, restore_method

SAY_WHERE = "say where it is now: --data on the command line, data=... in Python"


@dataclass(frozen=True)
class Opening:
    """How something that is asked is opened: what commands share.

    Attributes:
        method: What answers, if SOURCE is no run: one that needs no training; `tripleshot methods` lists them.
        columns: Names of the head, relation and tail columns of a file, where they are not the usual ones.
        literals: What becomes of RDF literals such as dates and numbers: `keep` makes entities of them.
        data: Where the dataset of a run is now, if it has moved.
        device: cpu, cuda, cuda:1, mps, ...
    """

    method: str | None = None
    columns: tuple[str, str, str] | None = None
    literals: Literals = "skip"
    data: str | None = None
    device: str = "cpu"

    def open(self, source: str) -> Predictor:
        """Return what answers from a source."""
        return open_predictor(source, self.method, self.data, self.device, self.columns, self.literals)


def open_predictor(
    source: str,
    method: str | None = None,
    data: str | None = None,
    device: str = "cpu",
    columns: Sequence[str] | None = None,
    literals: Literals = "skip",
) -> Predictor:
    """Return what answers from a run, or from every triple of a file, a dataset's folder or a name of the catalog.

    Args:
        source: what is asked.
        method: of a source that is no run, one that needs no training; None takes the default.
        data: of a run, its dataset, if it is no longer where it was.
        device: where to compute.
        columns: of a file of triples, those of head, relation and tail, as in `read_graph`.
        literals: of a file, whether RDF literals are left out or become entities.
    """
    if is_run(source):
        if method is not None or columns is not None:
            raise InputError(f"{source}: a run has its own method and data; leave out --method and --columns")
        return _open_run(Path(source), data, device)
    if data is not None:
        raise InputError(f"{source}: is no run; --data says where the dataset of a run is")
    return Predictor(as_dataset(source, columns, literals), method or DEFAULT_METHOD, device=device)


def _open_run(folder: Path, data: str | None, device: str) -> Predictor:
    """Return a run to be asked: every triple of its data counts, those of relations that became tasks, too.

    Where no names were learned, the data may be any graph. Where names were, they are compared with those of the split:
    the relation of a task has no embedding, and is nothing new.
    """
    config = load_config(folder)
    place, split = (data, None) if data is not None else _find_dataset(folder, config)
    whole = load_whole_graph(place) if split is None else _quietly(load_whole_graph, place)
    if not _knows_names(config):
        return _restore(config, folder, whole, device)
    split = split or _split_of(place, whole)
    require_known_names(config, split, folder)
    try:
        return _restore(config, folder, whole, device)
    except InputError:
        found = _restore(config, folder, split, device)  # or the same error again
    warn(f"{folder}: {config.method} fits no other relations than it was trained with: triples of tasks are left out")
    return found


def _split_of(place: str | Path, whole: FewShotDataset) -> FewShotDataset:
    """Return data with the tasks that a training would see; without any, if they are too few for that."""
    try:
        return _quietly(load_dataset, place)
    except InputError:
        return whole


def _quietly(read: Callable[[str | Path], FewShotDataset], place: str | Path) -> FewShotDataset:
    """Read what was read before, and do not say again what was wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return read(place)


def load(folder: str | Path, data: str | Path | FewShotDataset | None = None, device: str = "cpu") -> Predictor:
    """Return what `train` or `save` has written, ready to be measured and asked, as `train` returned it.

    It sees what it was trained on. `Predictor(data, load(folder))` is asked about every triple, as `tripleshot ask` is.

    Args:
        folder: of the run.
        data: the dataset, if it is no longer where it was. It may have changed since: names are what counts. For a
            method that knows no names it may be any other.
        device: where to compute.
    """
    folder = Path(folder)
    config = load_config(folder)
    if isinstance(data, FewShotDataset):
        dataset = data
    else:
        dataset = load_dataset(data) if data is not None else _find_dataset(folder, config)[1]
    if _knows_names(config):
        require_known_names(config, dataset, folder)
    return _restore(config, folder, dataset, device)


def _restore(config: RunConfig, folder: Path, dataset: FewShotDataset, device: str) -> Predictor:
    method = restore_method(config, folder, dataset, device)
    return Predictor.of(dataset, method, config.method, config.shots, load_calibration(folder), device)


def _knows_names(config: RunConfig) -> bool:
    entry = find_method(config.method)
    return entry.learns and entry.method_class().knows_names


def _find_dataset(folder: Path, config: RunConfig) -> tuple[str | Path, FewShotDataset]:
    """Look for a run's dataset where it may be, and take none that has changed; return where it is, too."""
    problems = []
    for place in _places(folder, config):
        try:
            dataset = load_dataset(place)
        except InputError as error:
            problems.append(str(error))
            continue
        if dataset.content_hash == config.data_hash:
            return place, dataset
        problems.append(f"{place}: has changed since {folder} was trained on it")
    missing = f"{config.data or config.dataset}: no such file, folder or dataset; if it has moved"
    about = f"{problems[0]}; to ask it as it is now, or another copy" if problems else missing
    raise InputError(f"{about}, {SAY_WHERE}")


def _places(folder: Path, config: RunConfig) -> Iterator[str | Path]:
    """Give the places of a run's dataset that are there: in the run, where it was, beside the run, in the catalog."""
    own, names = folder / DATA, dataset_names()
    if own.exists():
        yield own
    if config.data in names:
        yield config.data
        return
    for path in (config.data and Path(config.data), config.data_from_run and folder / config.data_from_run):
        if path and path.exists():
            yield path
    if config.dataset in names:
        yield config.dataset
