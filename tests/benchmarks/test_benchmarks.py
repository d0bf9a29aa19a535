import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from measuring import forward_flops, synthetic_dataset
from plain_rscl import PlainMethod
from scoring import sampled_test, score_sets
from step_parts import ATTENTION, GELU, MOVING, NORMS, PARTS, PRODUCTS, UPDATE
from training import PlainTraining, step_shares, take_turns, train_ours
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods.losses import ranking_loss
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.pretraining import mask, masking_loss
from tripleshot.methods.rscl.settings import MaskingShares, RSCLSettings

SHOTS = 3
SMALL = RSCLSettings(
    width=20, num_layers=2, max_neighbors=4, max_distant=3, batch_size=8, num_sampled=16, pretraining_steps=0, steps=10
)


@pytest.fixture(scope="module")
def dataset():
    return synthetic_dataset(num_entities=300, num_relations=6, num_triples=500, num_candidates=60)


@pytest.fixture(scope="module")
def ours(dataset):
    method = RSCLMethod(SMALL)
    method.prepare(dataset, SHOTS)
    with torch.no_grad():
        for parameter in method.module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # biases start at zero, which would hide a mix-up
    return method


@pytest.fixture(scope="module")
def plain(dataset, ours):
    return PlainMethod(ours.module, dataset.graph, SMALL, batch_size=16)


def assert_same(found: ContextBatch, expected: ContextBatch):
    for name in ("tokens", "positions", "direct_heads", "direct_tails"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


def test_the_plain_sampler_takes_the_same_contexts_token_for_token(dataset, ours, plain):
    pairs = np.random.default_rng(0).integers(dataset.graph.num_entities, size=(400, 2))
    contexts = ours.extractor.extract(pairs[:, 0], pairs[:, 1])
    assert_same(plain.sampler.batch(pairs), ContextBatch.of(contexts, ours.extractor))


def test_the_plain_sampler_draws_contexts_of_the_same_size(dataset, ours, plain):
    pairs = np.random.default_rng(1).integers(dataset.graph.num_entities, size=(400, 2))
    contexts = ours.extractor.extract(pairs[:, 0], pairs[:, 1], rng=np.random.default_rng(0))
    expected, found = ContextBatch.of(contexts, ours.extractor), plain.sampler.batch(pairs, random.Random(0))
    assert torch.equal(found.direct_heads, expected.direct_heads)
    assert torch.equal(found.direct_tails, expected.direct_tails)
    assert int((found.tokens > 0).sum()) == pytest.approx(int((expected.tokens > 0).sum()), rel=0.02)


def test_the_plain_network_gives_the_same_scores(dataset, ours, plain):
    for task in dataset.test:
        support, head, tails = task.support(SHOTS), int(task.pairs[-1, 0]), dataset.candidates(task)
        found, expected = plain.score(support, head, tails), ours.score(support, head, tails)
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


def test_the_plain_losses_are_the_same_where_nothing_is_sampled(dataset, ours, plain):
    pairs = np.random.default_rng(2).integers(dataset.graph.num_entities, size=(SHOTS + 16, 2))
    batch = ContextBatch.of(ours.extractor.extract(pairs[:, 0], pairs[:, 1]), ours.extractor)
    parts = [plain.sampler.batch(part) for part in np.split(pairs, [SHOTS, SHOTS + 8])]
    ours.module.eval()
    plain.model.eval()
    torch.manual_seed(0)
    found = plain.losses(*parts)
    encoded = ours.module(batch)
    scores = ours.module.score(encoded.rows(SHOTS), encoded.rows(0, SHOTS))
    torch.testing.assert_close(found["ranking"], ranking_loss(scores[:8], scores[8:], SMALL.margin))
    torch.manual_seed(0)
    true = batch.first(SHOTS + 8)
    masked = mask(true, ours.tokens, true.relation_tokens(), MaskingShares(relation=0.0, end=0.0))
    torch.testing.assert_close(found["masking"], masking_loss(ours.module, masked, ours.tokens, 0))


def test_both_trainings_take_the_same_episodes_in_turn(dataset):
    settings = replace(SMALL, dropout=0.0)
    first = PlainTraining(dataset, settings, SHOTS).step(0)
    taken = train_ours(dataset, settings, SHOTS, 2, lambda done: None)
    assert first.losses["ranking"] == pytest.approx(taken[0].losses["ranking"], rel=0.1)  # neighbors are drawn apart
    steps = take_turns(dataset, settings, SHOTS, num_ours=4, num_plain=2)
    assert {name: len(taken) for name, taken in steps.items()} == {"plain": 2, "tripleshot": 4}
    assert min(step.seconds for taken in steps.values() for step in taken) > 0


def test_the_parts_of_a_step_are_the_whole_step(dataset):
    for shares in step_shares(dataset, SMALL, SHOTS).values():
        assert list(shares) == list(PARTS)
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares[part] for part in (PRODUCTS, ATTENTION, GELU, NORMS, MOVING, UPDATE)) > 0


def test_queries_on_their_own_get_the_ranks_of_shared_heads(dataset, ours, plain):
    some = sampled_test(dataset, SHOTS, 20)
    result = score_sets(ours, plain, some, SHOTS)
    assert result.ranks_that_differ == 0
    assert result.queries == len(evaluate(ours, some, SHOTS, "valid").ranks) >= 20
    assert result.our_contexts < result.plain_contexts


def test_flops_are_those_of_the_matrix_products(dataset, ours, monkeypatch):
    """Count the products of a context without padding, where packed and padded are the same; torch sees its own."""
    monkeypatch.setenv("TRIPLESHOT_NATIVE", "0")
    pairs = np.random.default_rng(3).integers(dataset.graph.num_entities, size=(200, 2))
    batch = ContextBatch.of(ours.extractor.extract(pairs[:, 0], pairs[:, 1]), ours.extractor)
    full = int(torch.nonzero((batch.tokens > 0).all(1))[0])
    one = ContextBatch.of(ours.extractor.extract(pairs[full : full + 1, 0], pairs[full : full + 1, 1]), ours.extractor)
    ours.module.eval()
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        ours.module(one)
    assert forward_flops(SMALL, one) == pytest.approx(counter.get_total_flops(), rel=0.02)
