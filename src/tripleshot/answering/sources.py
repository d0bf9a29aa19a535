"""What a predictor is made of: triples in memory, in a file, a folder or the catalog, and a method that sees them."""

from collections.abc import Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any

from tripleshot.datasets.catalog import load_whole_graph, prepare_to_ask
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import Calibration, load_calibration
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import Literals, read_graph
from tripleshot.methods import create_method, find_method
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import UNIVERSAL, UNIVERSAL_NAME, TrainableMethod, TrainedNames, TrainedWeights
from tripleshot.training.runs import CONFIG


def is_run(source: str | PathLike[str]) -> bool:
    """Tell whether a path is the folder of a run."""
    return (Path(source) / CONFIG).is_file()


def as_dataset(
    data: Any,  # noqa: ANN401 (frames are those of libraries that need not be installed)
    columns: Sequence[str] | None = None,
    literals: Literals = "skip",
) -> FewShotDataset:
    """Return what is to be asked as a dataset: every triple of a graph, a file or a folder counts.

    A dataset in memory stays as it is: whoever made it may want to measure, and its tasks are no part of its graph.

    Args:
        data: what is asked.
        columns: those of head, relation and tail, as in `read_graph`.
        literals: whether RDF literals are left out or become entities.
    """
    if isinstance(data, FewShotDataset):
        return data
    if isinstance(data, str | PathLike):
        if is_run(data):
            raise InputError(f"{data}: is a run: load it, and ask what was loaded")
        return load_whole_graph(Path(data) if isinstance(data, PathLike) else data, columns, literals)
    graph = data if isinstance(data, KnowledgeGraph) else read_graph(data, columns=columns, literals=literals)
    return FewShotDataset("graph", prepare_to_ask(graph), (), (), ())


def create_ready(name: str, device: str) -> Method:
    """Return a method that needs no training, by its name."""
    if find_method(name).learns:
        raise InputError(f"{name} has to learn first: train it, and ask what was trained")
    return create_method(name, device=device)


def calibration_of(method: Any) -> Calibration | None:  # noqa: ANN401 (a method, or the name of one)
    """Return what is known of the confidence of a method before anybody trains: that of the universal weights."""
    return load_calibration(UNIVERSAL) if method == UNIVERSAL_NAME else None


def put_on(method: Method, dataset: FewShotDataset, shots: int, device: str) -> Method:
    """Return a method like the given one for another dataset: with its weights, or prepared anew."""
    if not isinstance(method, TrainableMethod):
        fresh = copy(method)
        fresh.prepare(dataset, shots)
        return fresh
    names = TrainedNames(method.graph.entities, method.graph.relations)
    fresh = type(method)(method.settings, device)
    fresh.restore(dataset, TrainedWeights.of(method.state(), names, f"the trained {type(method).__name__}"))
    return fresh
