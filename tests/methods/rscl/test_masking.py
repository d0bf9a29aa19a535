import numpy as np
import pytest
import torch

from tripleshot.methods.rscl.context_batches import Batch
from tripleshot.methods.rscl.contexts import MASK, PAD, RELATION
from tripleshot.methods.rscl.masking import MaskingShares, mask, masking_loss
from tripleshot.methods.rscl.network import RSCL

PLAIN = MaskingShares(relation=0.0, end=0.0)


@pytest.fixture
def batch(tiny, extractor):
    graph = tiny.graph
    rows = np.resize(np.arange(graph.num_triples), 400)
    relations = extractor.tokens.relations(graph.relation_ids[rows])
    return Batch.of(extractor.extract(graph.head_ids[rows], graph.tail_ids[rows], relations), extractor)


def test_about_fifteen_percent_are_chosen_and_most_of_them_hidden(batch, extractor):
    torch.manual_seed(0)
    masked = mask(batch, extractor.tokens, batch.relation_tokens(), PLAIN)
    present = batch.tokens != PAD
    present[:, 2 * batch.max_neighbors + 1] = False
    chosen = masked.chosen
    assert (chosen.sum() / present.sum()).item() == pytest.approx(0.15, abs=0.01)
    assert (masked.batch.tokens[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.03)
    assert (masked.batch.tokens[chosen] == batch.tokens[chosen]).float().mean().item() == pytest.approx(0.1, abs=0.03)
    torch.testing.assert_close(masked.batch.tokens[~chosen], batch.tokens[~chosen])
    torch.testing.assert_close(masked.targets, batch.tokens[chosen])


def test_padding_and_the_relations_own_slot_are_never_chosen(batch, extractor):
    masked = mask(batch, extractor.tokens, batch.relation_tokens(), PLAIN)
    assert not masked.chosen[batch.tokens == PAD].any()
    assert not masked.chosen[:, 2 * batch.max_neighbors + 1].any()


def test_in_pre_training_half_of_the_relations_have_to_be_inferred(batch, extractor):
    torch.manual_seed(0)
    slot = 2 * batch.max_neighbors + 1
    relations = batch.relation_tokens()
    masked = mask(batch, extractor.tokens, relations, MaskingShares(end=0.0))
    asked = masked.chosen[:, slot]
    assert asked.float().mean().item() == pytest.approx(0.5, abs=0.08)
    assert (masked.batch.tokens[asked, slot] == RELATION).all()
    torch.testing.assert_close(masked.batch.tokens[~asked, slot], relations[~asked])
    targets = torch.zeros_like(batch.tokens)
    targets[masked.chosen] = masked.targets
    torch.testing.assert_close(targets[asked, slot], relations[asked])


def test_a_masked_end_is_asked_for_without_its_neighbors(batch, extractor):
    torch.manual_seed(0)
    center = 2 * batch.max_neighbors
    masked = mask(batch, extractor.tokens, batch.relation_tokens(), MaskingShares(0.0, end=1.0, hidden_neighbors=1.0))
    seen = masked.batch.tokens
    head_asked, tail_asked = seen[:, center] == MASK, seen[:, center + 2] == MASK
    assert (masked.chosen[:, center] & head_asked)[~tail_asked].all()
    assert head_asked.float().mean().item() == pytest.approx(0.5, abs=0.15)
    only_head = head_asked & ~tail_asked
    assert (seen[only_head][:, :center] == PAD).all()
    assert not masked.chosen[only_head][:, :center].any()
    assert (seen[only_head][:, center + 3 :] != PAD).any()
    targets = torch.zeros_like(batch.tokens)
    targets[masked.chosen] = masked.targets
    torch.testing.assert_close(targets[head_asked, center], batch.tokens[head_asked, center])
    torch.testing.assert_close(targets[tail_asked, center + 2], batch.tokens[tail_asked, center + 2])


def test_a_masked_end_keeps_its_neighbors_where_it_is_told_to(batch, extractor):
    masked = mask(batch, extractor.tokens, batch.relation_tokens(), MaskingShares(0.0, end=1.0, hidden_neighbors=0.0))
    torch.testing.assert_close(masked.batch.tokens == PAD, batch.tokens == PAD)


def test_a_random_stand_in_is_of_the_same_kind(batch, extractor):
    torch.manual_seed(0)
    masked = mask(batch, extractor.tokens, batch.relation_tokens(), PLAIN)
    seen = masked.batch.tokens
    changed = masked.chosen & (seen != MASK)
    first_entity = extractor.tokens.first_entity
    torch.testing.assert_close(seen[changed] >= first_entity, batch.tokens[changed] >= first_entity)
    assert (seen < len(extractor.tokens)).all()


@pytest.mark.parametrize("num_sampled", [0, 20])
def test_the_loss_teaches_and_keeps_gradients_sparse(batch, extractor, num_sampled):
    torch.manual_seed(0)
    model = RSCL(len(extractor.tokens), extractor.max_neighbors, 16, 1, 2, 0.0)
    sparse, dense = [model.elements.weight], [p for n, p in model.named_parameters() if n != "elements.weight"]
    optimizers = [torch.optim.SparseAdam(sparse, lr=0.01), torch.optim.Adam(dense, lr=0.01)]
    losses = []
    for _ in range(60):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = masking_loss(
            model, mask(batch, extractor.tokens, batch.relation_tokens(), PLAIN), extractor.tokens, num_sampled
        )
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    assert model.elements.weight.grad is not None
    assert model.elements.weight.grad.is_sparse
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:5])
