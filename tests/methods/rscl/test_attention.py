from dataclasses import replace

import numpy as np
import pytest

from tripleshot.methods.protocol import AttentiveMethod
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings

SMALL = RSCLSettings(width=16, num_layers=2, num_heads=2, max_neighbors=4, max_distant=2)


def untrained(tiny, **changes):
    method = RSCLMethod(replace(SMALL, **changes))
    method.prepare(tiny, 3)
    return method


def question(tiny):
    task = tiny.test[0]
    return task.support(3), *task.queries(3)[0].tolist()


def test_rscl_can_show_what_it_weighed(tiny):
    assert isinstance(untrained(tiny), AttentiveMethod)


@pytest.mark.parametrize("relation_token", ["shared", "own", "difference"])
def test_the_examples_weights_are_the_ones_behind_the_score(tiny, relation_token):
    method = untrained(tiny, relation_token=relation_token)
    support, head, tail = question(tiny)
    seen = method.attention(support, head, tail)
    examples = method.reader.encode_support(support)
    query = method.module(method.reader.batch_of(method.extractor.extract(np.array([head]), np.array([tail])), support))
    score = 0.0
    shares = (method.module.global_share, 1 - method.module.global_share)
    for share, weights, of_query, of_examples in zip(
        shares,
        (seen.global_examples, seen.local_examples),
        (query.globally, query.locally),
        (examples.globally, examples.locally),
        strict=True,
    ):
        assert weights is not None
        assert weights.sum() == pytest.approx(1)
        score += share * (weights @ of_examples.numpy()) @ of_query.detach().numpy()[0]
    assert score == pytest.approx(method.score(support, head, np.array([tail]))[0], abs=1e-4)


def test_neighbors_are_those_of_the_context_and_their_weights_sum_to_one(tiny):
    method = untrained(tiny)
    support, head, tail = question(tiny)
    seen = method.attention(support, head, tail)
    for entity, side in ((head, seen.of_head), (tail, seen.of_tail)):
        expected = method.extractor.neighbors(np.array([entity]))
        pairs = expected.num_pairs[0]
        np.testing.assert_array_equal(side.entities, expected.entities[0, :pairs])
        np.testing.assert_array_equal(side.relations, expected.relations[0, :pairs])
        assert side.weights is not None
        assert len(side.weights) == side.num_direct == expected.num_direct[0]
        assert side.weights.sum() == pytest.approx(1)


def test_each_layers_map_is_a_distribution_over_the_tokens_that_are_there(tiny):
    support, head, tail = question(tiny)
    seen = untrained(tiny).attention(support, head, tail)
    size = 2 * len(seen.of_head.entities) + 3 + 2 * len(seen.of_tail.entities)
    assert seen.layers is not None
    assert seen.layers.shape == (2, size, size)
    np.testing.assert_allclose(seen.layers.sum(axis=2), 1, atol=1e-6)


def test_what_has_no_part_in_the_score_has_no_weights(tiny):
    asked = question(tiny)
    without_global = untrained(tiny, use_global=False).attention(*asked)
    assert without_global.layers is None
    assert without_global.global_examples is None
    assert without_global.local_examples is not None
    assert without_global.of_head.weights is not None
    without_local = untrained(tiny, use_local=False).attention(*asked)
    assert without_local.layers is not None
    assert without_local.global_examples is not None
    assert without_local.local_examples is None
    assert without_local.of_head.weights is None
    globally_only = untrained(tiny, global_share=1.0).attention(*asked)
    assert globally_only.local_examples is None
    assert globally_only.of_tail.weights is None
