import numpy as np
import pytest
import torch

from tripleshot.context_batches import Batch
from tripleshot.contexts import MASK, PAD, RELATION
from tripleshot.masking import mask, masking_loss
from tripleshot.rscl import RSCL


@pytest.fixture
def batch(tiny, extractor):
    graph = tiny.graph
    rows = np.resize(np.arange(graph.num_triples), 400)
    relations = extractor.tokens.relations(graph.relation_ids[rows])
    return Batch.of(extractor.extract(graph.head_ids[rows], graph.tail_ids[rows], relations), extractor)


def test_about_fifteen_percent_are_chosen_and_most_of_them_hidden(batch, extractor):
    torch.manual_seed(0)
    masked = mask(batch, extractor.tokens)
    present = batch.tokens != PAD
    present[:, 2 * batch.max_neighbors + 1] = False
    chosen = masked.chosen
    assert (chosen.sum() / present.sum()).item() == pytest.approx(0.15, abs=0.01)
    assert (masked.batch.tokens[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.03)
    assert (masked.batch.tokens[chosen] == batch.tokens[chosen]).float().mean().item() == pytest.approx(0.1, abs=0.03)
    torch.testing.assert_close(masked.batch.tokens[~chosen], batch.tokens[~chosen])
    torch.testing.assert_close(masked.targets, batch.tokens[chosen])


def test_padding_and_the_relations_own_slot_are_never_chosen(batch, extractor):
    masked = mask(batch, extractor.tokens)
    assert not masked.chosen[batch.tokens == PAD].any()
    assert not masked.chosen[:, 2 * batch.max_neighbors + 1].any()


def test_in_pre_training_half_of_the_relations_have_to_be_inferred(batch, extractor):
    torch.manual_seed(0)
    slot = 2 * batch.max_neighbors + 1
    relations = batch.tokens[:, slot].clone()
    masked = mask(batch, extractor.tokens, relations)
    asked = masked.chosen[:, slot]
    assert asked.float().mean().item() == pytest.approx(0.5, abs=0.08)
    assert (masked.batch.tokens[asked, slot] == RELATION).all()
    torch.testing.assert_close(masked.batch.tokens[~asked, slot], relations[~asked])
    targets = torch.zeros_like(batch.tokens)
    targets[masked.chosen] = masked.targets
    torch.testing.assert_close(targets[asked, slot], relations[asked])


def test_a_random_stand_in_is_of_the_same_kind(batch, extractor):
    torch.manual_seed(0)
    masked = mask(batch, extractor.tokens)
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
        loss = masking_loss(model, mask(batch, extractor.tokens), extractor.tokens, num_sampled)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    assert model.elements.weight.grad is not None
    assert model.elements.weight.grad.is_sparse
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:5])
