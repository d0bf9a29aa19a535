"""What RSCL weighs to score one triple: attention of both encoders and of the aggregator (sections IV-B and IV-C)."""

import torch
from torch import Tensor

from tripleshot.arrays import FloatArray
from tripleshot.methods.protocol import Attention, Neighborhood
from tripleshot.methods.rscl.context_batches import Batch
from tripleshot.methods.rscl.contexts import PAD, Neighbors
from tripleshot.methods.rscl.factorised import FactorisedRSCL, HalfBatch
from tripleshot.methods.rscl.network import RSCL, NearLayout, Representation
from tripleshot.methods.rscl.transformer import Packing


@torch.inference_mode()
def attend(module: RSCL, batch: Batch, examples: Representation, of_head: Neighbors, of_tail: Neighbors) -> Attention:
    """Return the weights behind one score; a level that has no part in the score has none.

    Args:
        module: the network.
        batch: the context of one triple.
        examples: the encoded support.
        of_head: the head's neighbors in that context.
        of_tail: the tail's.
    """
    query, share = module(batch), module.global_share
    locally = _local_weights(module, batch) if share < 1 else (None, None)
    return Attention(
        _surroundings(of_head, locally[0]),
        _surroundings(of_tail, locally[1]),
        _plain(module.support_weights(query.globally, examples.globally)[0]) if share > 0 else None,
        _plain(module.support_weights(query.locally, examples.locally)[0]) if share < 1 else None,
        _layers(module, batch),
    )


@torch.inference_mode()
def attend_halves(
    module: FactorisedRSCL, both: HalfBatch, examples: Representation, of_head: Neighbors, of_tail: Neighbors
) -> Attention:
    """Return the weights behind one score, given both halves; there is no map of a context never read as a whole."""
    read, share = module.read(both), module.global_share
    query = module.join(*(read.rows(torch.tensor([side], device=both.tokens.device)) for side in (0, 1)))
    locally: tuple[FloatArray | None, FloatArray | None] = (None, None)
    if module.local_encoder is not None and share < 1:
        _, weights = module.local_encoder.neighbors(*module.near(both))
        locally = _plain(weights[0]), _plain(weights[1])
    return Attention(
        _surroundings(of_head, locally[0]),
        _surroundings(of_tail, locally[1]),
        _plain(module.support_weights(query.globally, examples.globally)[0]) if share > 0 else None,
        _plain(module.support_weights(query.locally, examples.locally)[0]) if share < 1 else None,
    )


def _local_weights(module: RSCL, batch: Batch) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the local encoder's weights of the head's and of the tail's pairs, the nearest slot first: shapes (p,)."""
    if module.local_encoder is None:
        return None, None
    states = module.states(batch, batch.near())
    _, weights = module.local_encoder.neighbors(states, NearLayout.of(batch))
    return _plain(weights[0]), _plain(weights[1])


def _layers(module: RSCL, batch: Batch) -> FloatArray | None:
    """Return each block's attention between the tokens that are there: shape (L, n, n)."""
    if module.encoder is None:
        return None
    present = batch.tokens != PAD
    packing = Packing.of(present)
    maps = torch.cat(module.encoder.attentions(module.embed(batch, packing), packing))
    return _plain(maps[:, present[0]][:, :, present[0]])


def _surroundings(side: Neighbors, weights: FloatArray | None) -> Neighborhood:
    direct, pairs = int(side.num_direct[0]), int(side.num_pairs[0])
    kept = None if weights is None else weights[:direct]
    return Neighborhood(side.relations[0, :pairs], side.entities[0, :pairs], direct, kept)


def _plain(weights: Tensor) -> FloatArray:
    return weights.double().cpu().numpy()
