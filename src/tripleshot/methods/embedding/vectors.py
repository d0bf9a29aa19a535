"""The vectors that an embedding method has learned, for few-shot methods to start from."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.embedding.models import LEAST_LENGTH, Scoring
from tripleshot.methods.trainable import TrainedWeights, Vectors


def export_vectors(scoring: Scoring, weights: TrainedWeights, graph: KnowledgeGraph) -> Vectors:
    """Return the vectors of a graph's names, by name: of unit length where the model makes them so.

    The inverse of a relation has the vector with which the model would score (t, r, h) as it scores (h, r, t). Complex
    vectors are standardised, as GMatching takes them.

    Args:
        scoring: of the model; its relations are vectors.
        weights: of a run, with the names that they belong to.
        graph: whose entities and relations are looked up.
    """
    names = weights.names
    if names is None or scoring.inverse is None:
        raise InputError(f"{weights.source}: has no vectors that belong to names")
    entities = _rows(weights.tensors["entities.weight"].numpy(), names.entities, graph.entities.names)
    if scoring.is_unit:
        entities /= np.maximum(np.linalg.norm(entities, axis=1, keepdims=True), LEAST_LENGTH)
    forward = torch.from_numpy(
        _rows(weights.tensors["relations.vectors"].numpy(), names.relations, graph.relations.names)
    )
    tables = (torch.from_numpy(entities), torch.cat([forward, scoring.inverse(forward)]))
    of_entities, of_relations = (_standardised(table) if scoring.parts == 2 else table for table in tables)
    return Vectors(of_entities.numpy(), of_relations.numpy(), weights.source)


def _rows(table: npt.NDArray[np.float32], trained: Vocabulary, names: pa.LargeStringArray) -> npt.NDArray[np.float32]:
    """Return the table's rows for these names, zero for a name that it does not have."""
    found = trained.find(names)
    rows = table[np.maximum(found, 0)]
    rows[found < 0] = 0
    return rows


def _standardised(vectors: Tensor) -> Tensor:
    deviation, mean = torch.std_mean(vectors, dim=1, keepdim=True)
    return (vectors - mean) / (deviation + 1e-3)
