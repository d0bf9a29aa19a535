"""Scores that are added up from parts."""

import gc
import inspect
import weakref

import numpy as np
import pytest
import torch

from tripleshot.methods.evidence import native
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings

needs_compiler = pytest.mark.skipif(native.library() is None, reason="no C compiler")


def prepared(dataset, **settings):
    """Return an untrained network that has seen what features look like."""
    method = EvidenceNet(EvidenceNetSettings(batch_size=16, num_negatives=16, **settings))
    method.prepare(dataset, 3)
    method.stages()
    return method


@needs_compiler
@pytest.mark.parametrize("settings", [{}, {"without_evidence": "walk, similarity"}, {"hidden_width": 13}], ids=str)
def test_scores_from_parts_are_those_of_the_network_on_all_features(tiny, settings):
    method = prepared(tiny, **settings)
    tails = np.arange(tiny.graph.num_entities)[::-1]
    for task in (*tiny.test, *tiny.train):
        support = task.support(3)
        for head in task.pairs[:6, 0].tolist():
            features = torch.from_numpy(method.features(support, head, tails))
            expected = method.module(features).detach().numpy()
            np.testing.assert_allclose(method.score(support, head, tails), expected, rtol=5e-6, atol=5e-5)


@needs_compiler
def test_a_tail_has_the_same_score_to_the_bit_among_any_others(tiny):
    method = prepared(tiny)
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    together = method.score(support, 0, tails)
    alone = []
    for tail in tails:
        method.clear_cache()
        alone.append(method.score(support, 0, tails[[tail]])[0])
    assert alone == together.tolist()


@needs_compiler
def test_changed_weights_are_seen_once_the_cache_is_cleared(tiny):
    method = prepared(tiny)
    asked = tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities)
    before = method.score(*asked)
    with torch.no_grad():
        method.module.out.weight.mul_(2)
    method.clear_cache()
    np.testing.assert_allclose(method.score(*asked), 2 * before, rtol=1e-5)


@needs_compiler
def test_a_scorer_that_nobody_asks_any_more_goes_at_once(tiny):
    method = prepared(tiny)
    score = method.scorer_without(tiny.graph.relations.name(0), tiny.test[0].support(3))
    score(0, np.arange(5))
    assert inspect.ismethod(score)
    scorer = weakref.ref(score.__self__)
    gc.disable()
    try:
        del score
        assert scorer() is None
    finally:
        gc.enable()
