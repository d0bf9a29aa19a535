"""BERT's masking of contexts (paper, section IV-D): which tokens are hidden, and what has to be predicted."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from tripleshot.context_batches import Batch
from tripleshot.contexts import MASK, NUM_SPECIAL, PAD, RELATION, Tokens
from tripleshot.losses import exact_token_loss, sampled_token_loss
from tripleshot.rscl import RSCL

MASKED_SHARE = 0.15
TO_MASK, TO_OTHER = 0.8, 0.1  # of the chosen tokens; the others stay as they are


@dataclass(frozen=True, eq=False)
class Masked:
    """A batch with tokens hidden.

    Attributes:
        batch: what the model sees.
        chosen: shape (n, 4p + 3), true where the true token has to be predicted.
        targets: shape (num_chosen,), the true tokens, row by row.
    """

    batch: Batch
    chosen: Tensor
    targets: Tensor


def mask(batch: Batch, tokens: Tokens, relations: Tensor | None = None, relation_share: float = 0.5) -> Masked:
    """Hide 15% of the tokens: 80% of them behind [MASK], 10% behind a random token of their kind, 10% not at all.

    Args:
        batch: contexts.
        tokens: the vocabulary.
        relations: shape (n,), the true relation tokens of the triples, in pre-training: for a share of the contexts the
            relation is then replaced by the token that stands for every few-shot relation, and has to be predicted.
            None leaves the relation's slot alone.
        relation_share: that share.
    """
    original = batch.tokens
    slot = 2 * batch.max_neighbors + 1
    chosen = (torch.rand(original.shape, device=original.device) < MASKED_SHARE) & (original != PAD)
    chosen[:, slot] = False
    fate = torch.rand(original.shape, device=original.device)
    seen = torch.where(chosen & (fate < TO_MASK), MASK, original)
    to_other = chosen & (fate >= 1 - TO_OTHER)
    is_entity = original >= tokens.first_entity
    seen = torch.where(to_other & is_entity, torch.randint_like(original, tokens.first_entity, len(tokens)), seen)
    if tokens.first_entity > NUM_SPECIAL:
        seen = torch.where(to_other & ~is_entity, torch.randint_like(original, NUM_SPECIAL, tokens.first_entity), seen)
    truth = original
    if relations is not None:
        asked = torch.rand(len(original), device=original.device) < relation_share
        truth = original.clone()
        truth[:, slot] = relations
        seen[:, slot] = torch.where(asked, RELATION, relations)
        chosen[:, slot] = asked
    return Masked(replace(batch, tokens=seen), chosen, truth[chosen])


def masking_loss(model: RSCL, masked: Masked, tokens: Tokens, num_sampled: int) -> Tensor:
    """Return the cross entropy of the hidden tokens, entities among entities and relations among relations.

    The classifier is tied to the element embeddings. `num_sampled` entities are drawn to stand for all of them; 0 takes
    every entity, which is exact and dear.
    """
    states = model.states(masked.batch, masked.chosen)
    is_entity = masked.targets >= tokens.first_entity
    return _entity_loss(model, states[is_entity], masked.targets[is_entity], tokens, num_sampled) + _relation_loss(
        model, states[~is_entity], masked.targets[~is_entity], tokens
    )


def _entity_loss(model: RSCL, states: Tensor, targets: Tensor, tokens: Tokens, num_sampled: int) -> Tensor:
    table = model.elements.weight
    if not len(targets):
        return states.sum() * 0
    if not num_sampled:
        everyone = torch.arange(tokens.first_entity, len(tokens), device=targets.device)
        return exact_token_loss(
            states, functional.embedding(everyone, table, sparse=True), targets - tokens.first_entity
        )
    sampled = torch.randint(tokens.first_entity, len(tokens), (num_sampled,), device=targets.device)
    return sampled_token_loss(states, targets, sampled, table, tokens.num_entities)


def _relation_loss(model: RSCL, states: Tensor, targets: Tensor, tokens: Tokens) -> Tensor:
    if not len(targets):
        return states.sum() * 0
    relations = torch.arange(NUM_SPECIAL, tokens.first_entity, device=targets.device)
    table = functional.embedding(relations, model.elements.weight, sparse=True)
    return exact_token_loss(states, table, targets - NUM_SPECIAL)
