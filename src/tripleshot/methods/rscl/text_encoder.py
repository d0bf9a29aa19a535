"""Names as vectors: each trigram has one, and a name is their mean. Text is what the paper leaves to future work.

What was never trained on has a name all the same: a new entity is read by it.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.trigrams import NUM_CODES, NameTexts
from tripleshot.methods.rscl.contexts import NUM_SPECIAL, Tokens


class TextEncoder(nn.Module):
    """Reads the names of tokens; those without a name, such as [MASK], are zero."""

    offsets: Tensor
    codes: Tensor

    def __init__(self, graph: KnowledgeGraph, tokens: Tokens, width: int) -> None:
        """Start at random; names are not kept with the weights but read from the graph."""
        super().__init__()
        relations, entities = NameTexts.of(graph.relations), NameTexts.of(graph.entities)
        of_relations = np.diff(relations.offsets)
        nameless = np.zeros(tokens.num_tasks, dtype=np.int64)
        lengths = [np.zeros(1 + NUM_SPECIAL, dtype=np.int64), of_relations, of_relations, nameless]
        offsets = np.cumsum(np.concatenate([*lengths, np.diff(entities.offsets)]))
        codes = np.concatenate([relations.codes, relations.codes, entities.codes])
        self.register_buffer("offsets", torch.from_numpy(offsets), persistent=False)
        self.register_buffer("codes", torch.from_numpy(codes.astype(np.int32)), persistent=False)
        self.trigrams = nn.Embedding(NUM_CODES, width, sparse=True)
        nn.init.normal_(self.trigrams.weight, std=width**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the vectors of tokens, shape (n, width); each name is read once."""
        asked, back = tokens.unique(return_inverse=True)
        starts = self.offsets[asked]
        lengths = self.offsets[asked + 1] - starts
        begins = lengths.cumsum(0) - lengths
        owners = torch.repeat_interleave(lengths)
        positions = torch.arange(len(owners), device=tokens.device) - begins[owners] + starts[owners]
        weight = self.trigrams.weight
        vectors = functional.embedding_bag(self.codes[positions].long(), weight, begins, mode="mean", sparse=True)
        return vectors[back]
