"""Vectors of entities and relations: where a method starts from, what it learns, and found again by name."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.embedding.models import conjugate
from tripleshot.methods.fewshot.pretrained import load_vectors
from tripleshot.training.checkpoints import WEIGHTS, load_weights
from tripleshot.training.runs import RunVocabulary, load_config, load_vocabulary


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

    def begin(self, pretrained: str, fine_tune: bool, dataset: FewShotDataset) -> None:
        """Take vectors from a run's folder, unless it is empty, and decide whether they learn."""
        if pretrained:
            self.start_from(Path(pretrained), dataset)
        self.requires_grad_(fine_tune)

    @torch.no_grad()
    def start_from(self, folder: Path, dataset: FewShotDataset) -> None:
        """Take the vectors of a run of an embedding method, ComplEx's standardised as GMatching takes them."""
        found, method = load_vectors(folder, dataset), load_config(folder).method
        entities, relations = torch.from_numpy(found.entities), torch.from_numpy(found.relations)
        relations = torch.cat([relations, _inverses(relations, method)])
        width = self.entities.embedding_dim
        if entities.shape[1] != width:
            raise InputError(f"the vectors of {folder} have width {entities.shape[1]}, not {width}: set the same width")
        for table, start in ((self.entities, entities), (self.relations, relations)):
            table.weight[:-1].copy_(_standardised(start) if method == "complex" else start)


def _inverses(relations: Tensor, method: str) -> Tensor:
    """Return the vectors with which a method would score (t, r, h) as it scores (h, r, t) with these."""
    match method:
        case "complex":
            return conjugate(relations)
        case "distmult":
            return relations
        case _:
            return -relations


def _standardised(vectors: Tensor) -> Tensor:
    deviation, mean = torch.std_mean(vectors, dim=1, keepdim=True)
    return (vectors - mean) / (deviation + 1e-3)


def restore_weights(module: nn.Module, folder: Path, graph: KnowledgeGraph) -> None:
    """Read the weights of a run into a module that was made for a graph, by the graph's names.

    Its tables that are called `entities` and `relations` are laid out as those of `SymbolVectors`.
    """
    trained = load_vocabulary(folder)
    if trained is None or trained.fits(graph):
        load_weights(module, folder)
        return
    rows = _trained_rows(trained, graph)
    tables = {name: name.removesuffix(".weight").rpartition(".")[2] for name in module.state_dict()}
    load_weights(module, folder, {name: rows[table] for name, table in tables.items() if table in rows})


def _trained_rows(trained: RunVocabulary, graph: KnowledgeGraph) -> dict[str, npt.NDArray[np.int64]]:
    """Return which row of the trained tables each row of a graph's tables takes: the last one for an unknown name."""
    entities = trained.entities.find(graph.entities.names).astype(np.int64)
    relations = trained.relations.find(graph.relations.names).astype(np.int64)
    no_entity, num_relations = len(trained.entities), len(trained.relations)
    no_relation = 2 * num_relations
    forward = np.where(relations < 0, no_relation, relations)
    inverse = np.where(relations < 0, no_relation, relations + num_relations)
    return {
        "entities": np.append(np.where(entities < 0, no_entity, entities), no_entity),
        "relations": np.concatenate([forward, inverse, [no_relation]]),
    }


def trained_size(folder: Path, name: str) -> int:
    """Return how many rows some weights of a run have: what they were made for is not always in the settings."""
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            return file.get_slice(name).get_shape()[0]
    except (OSError, SafetensorError) as error:
        raise InputError(f"{folder / WEIGHTS}: not readable as weights of this method: {error}") from None
