"""A vector for a relation that training has not seen: fitted to its examples while the entities stay as they are."""

import numpy as np
import torch
from torch import Tensor

from tripleshot.arrays import IntArray
from tripleshot.methods.embedding.models import EmbeddingModel, Relations
from tripleshot.methods.embedding.settings import EmbeddingSettings
from tripleshot.methods.losses import corruption_loss

RATE = 0.01  # of Adam
NUM_NEGATIVES = 64  # a step and example


def fit_relation(model: EmbeddingModel, support: IntArray, settings: EmbeddingSettings) -> dict[str, Tensor]:
    """Return a relation's tables, of one row each, that suit some examples; the same ones for the same examples.

    It begins with a closed form: the mean translation, or the direction in which the examples' product score grows
    fastest, as long as trained relations are. Some steps of Adam then set it off against random wrong tails.

    Args:
        model: trained; it stays as it is.
        support: shape (K, 2).
        settings: loss, margin, seed and number of steps.
    """
    with torch.inference_mode(False), torch.enable_grad():
        pairs = torch.from_numpy(np.ascontiguousarray(support, dtype=np.int64)).to(model.supports.device)
        rows = pairs.new_zeros(len(pairs))
        tables = {name: table.requires_grad_() for name, table in _estimate(model, pairs, rows).items()}
        optimizer = torch.optim.Adam(tables.values(), lr=RATE)
        rng = np.random.default_rng(settings.seed)
        for _ in range(settings.fitting_steps):
            drawn = rng.integers(model.entities.num_embeddings - 1, size=(len(pairs), NUM_NEGATIVES))
            wrong = torch.from_numpy(drawn).to(pairs.device)
            vectors = model.entity_vectors(torch.cat([pairs, wrong], 1)).detach()
            loss = corruption_loss(model.score(vectors, Relations(tables, rows)), settings.loss, settings.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return {name: table.detach() for name, table in tables.items()}


@torch.no_grad()
def _estimate(model: EmbeddingModel, pairs: Tensor, rows: Tensor) -> dict[str, Tensor]:
    """Return the closed form for the first table; the others start from the mean of the trained relations."""
    scoring, trained = model.scoring, model.tables()
    tables = {name: table.mean(0, keepdim=True) for name, table in trained.items()}
    placed = scoring.place(model.entity_vectors(pairs), Relations(tables, rows))
    estimated = scoring.estimate(placed[:, 0], placed[:, 1])
    first = scoring.tables[0]
    if not scoring.is_unit:
        usual = torch.linalg.vector_norm(trained[first].flatten(1), dim=1).mean()
        estimated *= usual / torch.linalg.vector_norm(estimated).clamp(min=1e-12)
    return {**tables, first: estimated[None]}
