"""BERT's masking of contexts (paper, section IV-D): which tokens are hidden, and what has to be predicted."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from tripleshot.methods.losses import exact_token_loss, sampled_token_loss
from tripleshot.methods.rscl.context_batches import Batch
from tripleshot.methods.rscl.contexts import MASK, NUM_SPECIAL, PAD, RELATION, Tokens
from tripleshot.methods.rscl.network import RSCL

MASKED_SHARE = 0.15
TO_MASK, TO_OTHER = 0.8, 0.1  # of the chosen tokens; the others stay as they are


@dataclass(frozen=True)
class MaskingShares:
    """How often the triple itself is asked for, beside the 15% of all tokens.

    Attributes:
        relation: share of the contexts whose relation has to be predicted; the token that stands for every few-shot
            relation takes its place.
        end: share of the contexts whose head or whose tail has to be predicted.
        hidden_neighbors: share of those in which the neighbors of the masked end are hidden, too. Where they are shown,
            the end is recognised by them, and nothing is learned about what joins head and tail.
    """

    relation: float = 0.5
    end: float = 0.5
    hidden_neighbors: float = 0.8


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


def mask(batch: Batch, tokens: Tokens, relations: Tensor, shares: MaskingShares) -> Masked:
    """Hide 15% of the tokens: 80% of them behind [MASK], 10% behind a random token of their kind, 10% not at all.

    The relation is not among them: it is shown, or asked for by the token that stands for every few-shot relation. The
    masked end of a triple is always behind [MASK].

    Args:
        batch: contexts.
        tokens: the vocabulary.
        relations: shape (n,), the true relation tokens of the triples.
        shares: how often relation and ends are asked for.
    """
    masked_head, masked_tail, batch = _hide_ends(batch, shares)
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
    for end, masked in ((slot - 1, masked_head), (slot + 1, masked_tail)):
        seen[:, end] = torch.where(masked, MASK, seen[:, end])
        chosen[:, end] |= masked
    asked = torch.rand(len(original), device=original.device) < shares.relation
    truth = original.clone()
    truth[:, slot] = relations
    seen[:, slot] = torch.where(asked, RELATION, relations)
    chosen[:, slot] = asked
    return Masked(replace(batch, tokens=seen), chosen, truth[chosen])


def _hide_ends(batch: Batch, shares: MaskingShares) -> tuple[Tensor, Tensor, Batch]:
    """Choose which heads and which tails are asked for, and take the neighbors of most of them out of the contexts.

    Returns:
        masked_head: shape (n,), true where the head is asked for; `masked_tail` the tail; never both.
        batch: without the neighbors that are hidden, and without roles, which tell of the opposite entity, where an end
            is masked.
    """
    center = 2 * batch.max_neighbors
    draw, hiding = torch.rand(2, len(batch.tokens), device=batch.tokens.device)
    masked_head, masked_tail = draw < shares.end / 2, (draw >= shares.end / 2) & (draw < shares.end)
    hides = hiding < shares.hidden_neighbors
    tokens = batch.tokens.clone()
    tokens[:, :center] = torch.where((masked_head & hides)[:, None], PAD, tokens[:, :center])
    tokens[:, center + 3 :] = torch.where((masked_tail & hides)[:, None], PAD, tokens[:, center + 3 :])
    roles = None if batch.roles is None else torch.where((masked_head | masked_tail)[:, None], 0, batch.roles)
    return masked_head, masked_tail, replace(batch, tokens=tokens, roles=roles)


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
