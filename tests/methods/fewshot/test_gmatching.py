from dataclasses import replace

import numpy as np
import pytest
import torch

from learning_checks import (
    assert_queries_change_nothing,
    assert_resumes_to_the_same_weights,
    edges_of,
    memorized_mrr,
    question,
)
from quick_settings import quick_neighbors
from tripleshot.methods.fewshot.gmatching import GMatching, GMatchingMethod, GMatchingSettings
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder
from tripleshot.training.fit import fit

QUICK = quick_neighbors(GMatchingSettings)


def make(**changes):
    return GMatchingMethod(replace(QUICK, **changes))


def plain_code(module, graph, entity, max_neighbors, released):
    """Transform and add up one padded place after the other."""
    edges = edges_of(graph, entity)[:max_neighbors]
    symbols, total = module.symbols, torch.zeros(module.combine.out_features)
    for relation, other in edges:
        total = total + module.combine(torch.cat([symbols.relations.weight[relation], symbols.entities.weight[other]]))
    if released:
        total = total + (max_neighbors - len(edges)) * module.combine.bias
    return torch.tanh(total / len(edges))


def plain_scores(method, graph, support, head, tails):
    settings, module = method.settings, method.module

    def pair(start, end):
        codes = [
            plain_code(module, graph, e, settings.max_neighbors, settings.match_released_code) for e in (start, end)
        ]
        return module.encode_pair(torch.cat(codes)[None])[0]

    prototype = torch.stack([pair(*example) for example in support.tolist()]).mean(0)
    return [module.processor(pair(head, tail)[None], prototype).item() for tail in tails.tolist()]


@pytest.mark.parametrize(
    "change",
    [{}, {"regime": "in-train", "num_negatives": 2}, {"match_released_code": True}, {"matching_steps": 1}],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = make(**change)
    fit(method, tiny, 3)
    asked = question(tiny)
    with torch.inference_mode():
        expected = plain_scores(method, tiny.graph, *asked)
    np.testing.assert_allclose(method.score(*asked), expected, atol=1e-4)


def test_an_entity_without_neighbors_has_a_finite_code(tiny):
    bare = tiny.graph.without_relations(np.arange(tiny.graph.num_relations))
    for padded_to in (0, 4):
        module = GMatching(bare.num_entities, bare.num_relations, 8, 0.5, 0.2, 2, padded_to)
        assert module.encode(NeighborFinder(bare, 4).find(np.array([0, 1]))).isfinite().all()


def test_it_overfits_a_tiny_graph(tiny):
    assert memorized_mrr(make(steps=150, dropout=0.0, encoder_dropout=0.0, width=16), tiny) > 0.9


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    assert_resumes_to_the_same_weights(make, tiny, tmp_path, stop_at=13)


def test_query_triples_of_any_split_change_nothing(tiny):
    assert_queries_change_nothing(make, tiny)
