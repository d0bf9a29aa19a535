"""Vectors that an embedding method has learnt, for other methods to start from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from safetensors import SafetensorError
from safetensors.numpy import load_file

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.embedding.models import SCORINGS
from tripleshot.training.checkpoints import WEIGHTS
from tripleshot.training.runs import load_config, load_vocabulary, require_known_names

SOURCES = tuple(name for name, scoring in SCORINGS.items() if "vectors" in scoring.tables)


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector for each entity and relation of a graph, float32; zero for a name that the run has never seen.

    Attributes:
        entities: shape (num_entities, d); of ComplEx, d is twice its width, real parts first.
        relations: shape (num_relations, d), of the background relations.
    """

    entities: npt.NDArray[np.float32]
    relations: npt.NDArray[np.float32]


def load_vectors(folder: Path, dataset: FewShotDataset) -> Vectors:
    """Read the vectors of a run of an embedding method, by the names of a dataset's graph."""
    folder = Path(folder)
    config, trained = load_config(folder), load_vocabulary(folder)
    if config.method not in SOURCES:
        raise InputError(f"{folder}: {config.method} has no vectors to start from; {', '.join(SOURCES)} have")
    if trained is None:
        raise InputError(f"{folder}: has no vocabulary to find its vectors by: train it again")
    require_known_names(config, dataset, folder)
    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{folder / WEIGHTS}: not readable as weights: {error}") from None
    graph = dataset.graph
    entities = _rows(weights["entities.weight"], trained.entities, graph.entities.names)
    if SCORINGS[config.method].is_unit:
        entities /= np.maximum(np.linalg.norm(entities, axis=1, keepdims=True), 1e-12)
    return Vectors(entities, _rows(weights["relations.vectors"], trained.relations, graph.relations.names))


def _rows(table: npt.NDArray[np.float32], trained: Vocabulary, names: pa.LargeStringArray) -> npt.NDArray[np.float32]:
    """Return the table's rows for these names."""
    found = trained.find(names)
    rows = table[np.maximum(found, 0)]
    rows[found < 0] = 0
    return rows
