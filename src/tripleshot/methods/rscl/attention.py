"""What RSCL weighs to score one triple: attention of both encoders and of the aggregator (sections IV-B and IV-C)."""

import torch
from torch import Tensor

from tripleshot.arrays import FloatArray
from tripleshot.methods.protocol import Attention, Neighborhood
from tripleshot.methods.rscl.contexts import ContextBatch, Neighbors
from tripleshot.methods.rscl.network import RSCL, Representation
from tripleshot.methods.rscl.tokens import PAD
from tripleshot.methods.rscl.transformer import Packing


def attend(
    module: RSCL,
    query: Representation,
    examples: Representation,
    sides: tuple[Neighbors, Neighbors],
    neighbor_weights: Tensor | None,
    layers: FloatArray | None = None,
) -> Attention:
    """Return the weights behind one score; a level that has no part in the score has none.

    Args:
        module: the network.
        query: the encoded triple.
        examples: the encoded support.
        sides: the neighbors of head and tail in the triple's context.
        neighbor_weights: shape (2, p), the local encoder's weights of the pairs of head and tail, the nearest slot
            first; None without a local encoder.
        layers: shape (L, n, n), of the transformer, where it reads the context as a whole.
    """
    share = module.global_share
    of_head, of_tail = neighbor_weights if neighbor_weights is not None and share < 1 else (None, None)
    return Attention(
        _neighborhood(sides[0], of_head),
        _neighborhood(sides[1], of_tail),
        _as_array(module.support_weights(query.globally, examples.globally)[0]) if share > 0 else None,
        _as_array(module.support_weights(query.locally, examples.locally)[0]) if share < 1 else None,
        layers,
    )


def attention_layers(module: RSCL, batch: ContextBatch) -> FloatArray | None:
    """Return each block's attention between the tokens of one context: shape (L, n, n); None without a transformer."""
    if module.encoder is None:
        return None
    is_token = batch.tokens != PAD
    packing = Packing.of(is_token)
    maps = torch.cat(module.encoder.attentions(module.embed(batch, packing), packing))
    return _as_array(maps[:, is_token[0]][:, :, is_token[0]])


def _neighborhood(side: Neighbors, weights: Tensor | None) -> Neighborhood:
    num_direct, num_pairs = int(side.num_direct[0]), int(side.num_pairs[0])
    kept = None if weights is None else _as_array(weights[:num_direct])
    return Neighborhood(side.relations[0, :num_pairs], side.entities[0, :num_pairs], num_direct, kept)


def _as_array(weights: Tensor) -> FloatArray:
    return weights.double().cpu().numpy()
