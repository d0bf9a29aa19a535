"""What a predictor is made of: triples in memory, in a file, a folder or the catalog, and a method that sees them."""

import json
import os
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, astuple, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tripleshot.arrays import hash_arrays
from tripleshot.datasets.catalog import load_whole_graph, prepare_to_ask
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import Calibration, load_calibration
from tripleshot.evaluation.confidence_curves import Curve, NoneCurve
from tripleshot.evaluation.graph_calibration import ask_own_relations, calibrate_on_graph
from tripleshot.graph.index_files import keep
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import Literals, read_graph
from tripleshot.graph.types import with_types_from_names
from tripleshot.methods import create_method, find_method
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.graph_fitting import MAX_THREADS, NUM_PAIRS, fitting_code
from tripleshot.methods.evidence.universal import Universal
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import UNIVERSAL, TrainableMethod, TrainedNames, TrainedWeights, find_device
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


def add_triples(dataset: FewShotDataset, triples: Iterable[tuple[str, str, str]]) -> FewShotDataset:
    """Return a dataset whose graph has more triples, given by name; new entities have the types of their names."""
    background = dataset.graph
    grown = background.with_triples(triples)
    labels = {task.name: task.label for _, task in dataset.all_tasks() if task.label}
    graph = with_types_from_names(grown, background.num_entities).with_relation_labels(labels)
    return replace(dataset, graph=graph)


def create_ready(name: str, device: str) -> Method:
    """Return a method that needs no training, by its name."""
    if find_method(name).learns:
        raise InputError(f"{name} has to learn first: train it, and ask what was trained")
    return create_method(name, device=device)


def calibration_of(method: Method) -> Calibration | None:
    """Return what is known of the confidence of a method that is ready, before anybody trains."""
    if not isinstance(method, Universal):
        return None
    return graph_confidence(method.network) if method.fitted else load_calibration(UNIVERSAL)


def graph_confidence(network: EvidenceNet) -> Calibration | None:
    """Return the calibration of the universal weights, fitted once to what the graph says about itself."""
    universal = load_calibration(UNIVERSAL)
    if universal is None:
        return None

    def fit() -> list[dict[str, Any]]:
        fitted = calibrate_on_graph(universal, ask_own_relations(network, min(MAX_THREADS, os.cpu_count() or 1)))
        assert fitted.none is not None
        return [{"curve": np.array(astuple(fitted.curve)), "none": np.array(astuple(fitted.none))}]

    def key() -> str:
        return hash_arrays(network.fingerprint(), fitting_code(), json.dumps(asdict(universal)))

    found = keep(key, "confidence", NUM_PAIRS, fit)
    return replace(universal, curve=Curve(*found["curve"].tolist()), none=NoneCurve(*found["none"].tolist()))


def put_on(method: Method, dataset: FewShotDataset, shots: int, device: str) -> Method:
    """Return a method like the given one for another dataset: with its weights, or prepared anew."""
    if device != "cpu":
        find_device(device)  # refuses one that is not there, also for a method that computes nowhere else
    if isinstance(method, Universal) and method.is_prepared:
        return method.on(dataset)
    if not isinstance(method, TrainableMethod):
        fresh = copy(method)
        fresh.prepare(dataset, shots)
        return fresh
    names = TrainedNames(method.graph.entities, method.graph.relations)
    fresh = type(method)(method.settings, device)
    fresh.restore(dataset, TrainedWeights.of(method.state(), names, f"the trained {type(method).__name__}"))
    return fresh
