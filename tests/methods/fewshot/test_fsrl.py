import math
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
from tripleshot.methods.fewshot.fsrl import FSRL, FSRLMethod, FSRLSettings, RecurrentAggregator
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder
from tripleshot.training.fit import fit

QUICK = quick_neighbors(FSRLSettings, encoder_dropout=0.1)


def make(**changes):
    return FSRLMethod(replace(QUICK, **changes))


def test_the_recurrent_aggregator_by_hand():
    """The LSTM's weights are zero: its cell takes in half of a new 1 at each example, and shows half of its tanh."""
    aggregator = RecurrentAggregator(width=1)
    with torch.no_grad():
        for parameter in aggregator.parameters():
            parameter.zero_()
        aggregator.encoder.get_parameter("bias_ih_l0")[4:6] = 100.0
        aggregator.compare.weight.copy_(torch.tensor([[1.0, 0.0]]))
        aggregator.weigh.weight.fill_(2.0)
    first, second = 0.5 * math.tanh(0.5), 0.5 * math.tanh(0.75)
    values = [(1 + first, 2 + first), (-1 + second, 4 + second)]
    raised = [math.exp(2 * math.tanh(value[0])) for value in values]
    weights = [part / sum(raised) for part in raised]
    expected = [sum(weight * value[i] for weight, value in zip(weights, values, strict=True)) for i in range(2)]
    assert aggregator(torch.tensor([[1.0, 2.0], [-1.0, 4.0]])).tolist() == pytest.approx(expected)


def test_the_decoder_begins_with_what_the_encoder_ended_with():
    torch.manual_seed(0)
    aggregator, examples = RecurrentAggregator(width=2), torch.randn(3, 4)
    _, (state, cell) = aggregator.encoder(examples)
    given = state.view(1, -1)
    expected, hidden, cell = [], given, cell.view(1, -1)
    for _ in range(3):
        hidden, cell = aggregator.decoder(given, (hidden, cell))
        given = hidden
        expected.append(hidden)
    torch.testing.assert_close(aggregator.decode(examples), torch.cat(expected))


def plain_code(module, graph, entity, max_neighbors, released):
    """Attention over padded places, one after the other."""
    edges = edges_of(graph, entity)[:max_neighbors]
    symbols = module.symbols
    others = [symbols.entities.weight[other] for _, other in edges]
    pairs = [torch.cat([symbols.relations.weight[r], other]) for (r, _), other in zip(edges, others, strict=True)]
    if released:
        pairs += [torch.zeros(2 * len(others[0]))] * (max_neighbors - len(edges))
    weights = torch.cat([module.weigh(torch.tanh(module.compare(pair))) for pair in pairs]).softmax(0)
    return torch.tanh(weights[: len(others)] @ torch.stack(others))


def plain_scores(method, graph, support, head, tails):
    settings, module = method.settings, method.module

    def pair(start, end):
        codes = [
            plain_code(module, graph, e, settings.max_neighbors, settings.match_released_code) for e in (start, end)
        ]
        return module.encode_pair(torch.cat(codes)[None])[0]

    prototype = module.aggregator(torch.stack([pair(*example) for example in support.tolist()]))
    return [module.processor(pair(head, tail)[None], prototype).item() for tail in tails.tolist()]


@pytest.mark.parametrize(
    "change",
    [{}, {"regime": "in-train", "num_negatives": 2}, {"match_released_code": True}, {"reconstruction_weight": 0.0}],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = make(**change)
    fit(method, tiny, 3)
    asked = question(tiny)
    with torch.inference_mode():
        expected = plain_scores(method, tiny.graph, *asked)
    np.testing.assert_allclose(method.score(*asked), expected, atol=1e-4)


@pytest.mark.parametrize("released", [False, True])
def test_the_decoder_learns_unless_the_released_code_is_followed(tiny, released):
    method = make(match_released_code=released)
    method.prepare(tiny, 3)
    losses = method.stages()[0].losses(0, np.random.default_rng(0))
    torch.stack(list(losses.values())).sum().backward()
    gradients = [parameter.grad for parameter in method.module.aggregator.decoder.parameters()]
    assert [gradient is not None and bool(gradient.any()) for gradient in gradients] == [not released] * 4


def test_an_entity_without_neighbors_has_a_finite_code(tiny):
    bare = tiny.graph.without_relations(np.arange(tiny.graph.num_relations))
    for padded_to in (0, 4):
        module = FSRL(bare.num_entities, bare.num_relations, 8, 0.5, 0.2, 2, padded_to)
        assert not module.encode(NeighborFinder(bare, 4).find(np.array([0, 1]))).any()


def test_it_overfits_a_tiny_graph(tiny):
    assert memorized_mrr(make(steps=150, dropout=0.0, encoder_dropout=0.0, width=16), tiny) > 0.9


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    assert_resumes_to_the_same_weights(make, tiny, tmp_path, stop_at=13)


def test_query_triples_of_any_split_change_nothing(tiny):
    assert_queries_change_nothing(make, tiny)
