"""Vectors of entities and relations: where a method starts from, what it learns, and found again by name."""

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.trainable import TrainedNames, TrainedWeights, Vectors


def make_entity_vectors(num_entities: int, width: int) -> nn.Embedding:
    """Make random vectors, each about one long; the last is for entities that training has not seen, and stays zero."""
    table = nn.Embedding(num_entities + 1, width, sparse=True)
    nn.init.normal_(table.weight, std=width**-0.5)
    nn.init.zeros_(table.weight[-1])
    return table


class SymbolVectors(nn.Module):
    """One vector for each entity, relation and inverse relation.

    The last row of each table is zero and never learns: it stands for names that training has not seen.
    """

    def __init__(self, num_entities: int, num_relations: int, width: int) -> None:
        """Start at random, each vector about one long."""
        super().__init__()
        self.entities = nn.Embedding(num_entities + 1, width, sparse=True)
        self.relations = nn.Embedding(2 * num_relations + 1, width)
        for table in (self.entities, self.relations):
            nn.init.normal_(table.weight, std=width**-0.5)
            nn.init.zeros_(table.weight[-1])

    @torch.no_grad()
    def copy_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the vectors of an embedding method."""
        vectors = require_vectors(start, self.entities.embedding_dim)
        for table, given in ((self.entities, vectors.entities), (self.relations, vectors.relations)):
            table.weight[:-1].copy_(torch.from_numpy(given))


def require_vectors(start: Vectors | TrainedWeights, width: int) -> Vectors:
    """Return what a method starts from if it is vectors of this width, and refuse anything else."""
    if not isinstance(start, Vectors):
        raise InputError(f"{start.source}: has no vectors to start from")
    found = start.entities.shape[1]
    if found != width:
        raise InputError(f"the vectors of {start.source} have width {found}, not {width}: set the same width")
    return start


def restore_weights(module: nn.Module, weights: TrainedWeights, graph: KnowledgeGraph) -> None:
    """Put the weights of a run into a module that was made for a graph, by the graph's names.

    Its tables that are called `entities` and `relations` are laid out as those of `SymbolVectors`.
    """
    if weights.names is None or weights.names.fits(graph):
        weights.load_into(module)
        return
    rows = _trained_rows(weights.names, graph)
    tables = {name: name.removesuffix(".weight").rpartition(".")[2] for name in module.state_dict()}
    weights.load_into(module, {name: rows[table] for name, table in tables.items() if table in rows})


def _trained_rows(trained: TrainedNames, graph: KnowledgeGraph) -> dict[str, npt.NDArray[np.int64]]:
    """Return which row of the trained tables each row of a graph's tables takes: the last one for an unknown name."""
    num_relations = len(trained.relations)
    no_entity, no_relation = len(trained.entities), 2 * num_relations
    forward = trained.relations.align(graph.relations, no_relation)
    inverse = trained.relations.align(graph.relations, no_relation, num_relations)
    return {
        "entities": np.append(trained.entities.align(graph.entities, no_entity), no_entity),
        "relations": np.concatenate([forward, inverse, [no_relation]]),
    }
