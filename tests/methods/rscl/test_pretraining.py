from dataclasses import replace

import numpy as np
import pytest
import torch

from tripleshot.datasets.held_back import without_held_back
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.network import RSCL
from tripleshot.methods.rscl.pretraining import RSCLTraining, mask, masking_loss
from tripleshot.methods.rscl.settings import MaskingShares
from tripleshot.methods.rscl.settings import tiny as preset
from tripleshot.methods.rscl.tokens import MASK, NUM_SPECIAL, PAD, RELATION

PLAIN = MaskingShares(relation=0.0, end=0.0)


@pytest.fixture
def batch(tiny, extractor):
    graph = tiny.graph
    rows = np.resize(np.arange(graph.num_triples), 400)
    relations = extractor.tokens.relations(graph.relation_ids[rows])
    return ContextBatch.of(extractor.extract(graph.head_ids[rows], graph.tail_ids[rows], relations), extractor)


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


def masked_and_shown(method, monkeypatch):
    """Return every triple that pre-training and episodes draw, and every context they show, as names."""
    seen = []
    real = method.extractor.extract

    def extract(heads, tails, relation_tokens, rng, hidden):
        contexts = real(heads, tails, relation_tokens, rng, hidden)
        seen.append((heads, tails, np.broadcast_to(relation_tokens, len(tails)), contexts.tokens))
        return contexts

    monkeypatch.setattr(method.extractor, "extract", extract)
    rng = np.random.default_rng(0)
    for stage in method.stages():
        for step in range(30):
            stage.losses(step, rng)
    return seen


@pytest.mark.parametrize("train_edges", [False, True])
def test_pre_training_and_episodes_see_no_query_and_no_context_that_shows_the_masked_triple(
    tiny, monkeypatch, train_edges
):
    settings = replace(preset(), pretraining_batch_size=32, pretraining_task_share=0.5, train_edges=train_edges)
    method = RSCLMethod(settings)
    method.prepare(tiny, 3)
    tokens, graph, p = method.tokens, method.graph, settings.max_neighbors
    in_train = {pair for task in tiny.train for pair in map(tuple, task.pairs.tolist())}
    held_out = {pair for task in (*tiny.valid, *tiny.test) for pair in map(tuple, task.pairs.tolist())} - in_train
    edges = set(zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True))
    joined = {pair for h, _, t in edges for pair in ((h, t), (t, h))}
    num_task_triples = 0
    for heads, tails, relations, contexts in masked_and_shown(method, monkeypatch):
        for head, tail, relation, context in zip(heads, tails, relations, contexts, strict=True):
            num_task_triples += (head, tail) in in_train
            if relation == RELATION:
                continue  # an episode's wrong answers may be anything
            assert (head, tail) not in held_out or (head, tail) in joined
            backwards = (relation - NUM_SPECIAL + graph.num_relations) % (2 * graph.num_relations) + NUM_SPECIAL
            shown = set(zip(context[0 : 2 * p : 2] - tokens.first_entity, context[1 : 2 * p : 2], strict=True))
            assert relation >= tokens.first_task or (tail, backwards) not in shown
            shown = set(zip(context[2 * p + 4 :: 2] - tokens.first_entity, context[2 * p + 3 :: 2], strict=True))
            assert relation >= tokens.first_task or (head, backwards) not in shown
    assert num_task_triples > 100


def test_pre_training_neither_draws_nor_shows_what_is_held_back_for_the_episodes(tiny):
    method = RSCLMethod(replace(preset(), held_back=0.4, pretraining_task_share=0.5))
    method.prepare(tiny, 3)
    training = RSCLTraining(method.reader, tiny, 3)
    seen = without_held_back(tiny, 0.4)
    assert training.extractor.graph.num_triples == seen.graph.num_triples < tiny.graph.num_triples
    assert method.extractor.graph.num_triples == tiny.graph.num_triples
    drawn = training.triples.draw(3000, np.random.default_rng(0))
    pairs = {tuple(pair) for pair in np.stack([drawn.heads, drawn.tails], axis=1)[drawn.relations < 0].tolist()}
    assert pairs == {tuple(pair) for task in seen.train for pair in task.pairs.tolist()}
    of_graph = drawn.relations >= 0
    shown = {*zip(drawn.heads[of_graph].tolist(), drawn.tails[of_graph].tolist(), strict=True)}
    edges = {*zip(seen.graph.head_ids.tolist(), seen.graph.tail_ids.tolist(), strict=True)}
    assert shown <= edges | {(tail, head) for head, tail in edges}


def test_pre_training_and_episodes_have_dropout_of_their_own(tiny):
    method = RSCLMethod(replace(preset(), dropout=0.3, pretraining_dropout=0.1))
    method.prepare(tiny, 3)
    pretraining, episodes = RSCLTraining(method.reader, tiny, 3).stages()
    method.module.train()
    dropped = {}
    for stage in (pretraining, episodes):
        stage.losses(0, np.random.default_rng(0))
        dropped[stage.name] = (method.module.dropout(torch.ones(100_000)) == 0).float().mean().item()
    assert dropped == {"pre-training": pytest.approx(0.1, abs=0.01), "episodes": pytest.approx(0.3, abs=0.01)}
