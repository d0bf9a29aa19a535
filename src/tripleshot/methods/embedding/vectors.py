"""The vectors that an embedding method has learned, for few-shot methods to start from."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.embedding.models import SCORINGS, conjugate
from tripleshot.methods.trainable import TrainedWeights, Vectors


def exporter_of(variant: str) -> Callable[[TrainedWeights, KnowledgeGraph], Vectors] | None:
    """Return what makes vectors out of a model's weights; None for one whose relations are no vectors."""
    if "vectors" not in SCORINGS[variant].tables:
        return None

    def export(weights: TrainedWeights, graph: KnowledgeGraph) -> Vectors:
        return export_vectors(variant, weights, graph)

    return staticmethod(export)


def export_vectors(variant: str, weights: TrainedWeights, graph: KnowledgeGraph) -> Vectors:
    """Return the vectors of a graph's names: of unit length where the model makes them so, ComplEx's standardised.

    GMatching takes ComplEx's vectors standardised. The inverse of a relation has the vector with which the model would
    score (t, r, h) as it scores (h, r, t).
    """
    names = weights.names
    assert names is not None
    entities = _rows(weights.tensors["entities.weight"].numpy(), names.entities, graph.entities.names)
    if SCORINGS[variant].is_unit:
        entities /= np.maximum(np.linalg.norm(entities, axis=1, keepdims=True), 1e-12)
    relations = _rows(weights.tensors["relations.vectors"].numpy(), names.relations, graph.relations.names)
    forward = torch.from_numpy(relations)
    tables = (torch.from_numpy(entities), torch.cat([forward, _inverses(forward, variant)]))
    standardised = [_standardised(table) if variant == "complex" else table for table in tables]
    return Vectors(standardised[0].numpy(), standardised[1].numpy(), weights.source)


def _rows(table: npt.NDArray[np.float32], trained: Vocabulary, names: pa.LargeStringArray) -> npt.NDArray[np.float32]:
    """Return the table's rows for these names, zero for a name that it does not have."""
    found = trained.find(names)
    rows = table[np.maximum(found, 0)]
    rows[found < 0] = 0
    return rows


def _inverses(relations: Tensor, variant: str) -> Tensor:
    match variant:
        case "complex":
            return conjugate(relations)
        case "distmult":
            return relations
        case _:
            return -relations


def _standardised(vectors: Tensor) -> Tensor:
    deviation, mean = torch.std_mean(vectors, dim=1, keepdim=True)
    return (vectors - mean) / (deviation + 1e-3)
