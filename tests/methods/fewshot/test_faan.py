import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from learning_checks import (
    assert_queries_change_nothing,
    assert_resumes_to_the_same_weights,
    edges_of,
    memorized_mrr,
    question,
)
from quick_settings import quick_neighbors
from tripleshot.methods.fewshot.faan import (
    FAAN,
    AdaptiveNeighborEncoder,
    FAANMethod,
    FAANSettings,
    PairBlock,
    PairTransformer,
    sinusoids,
)
from tripleshot.methods.fewshot.neighborhoods import Neighborhoods
from tripleshot.training.fit import fit

GELU = partial(functional.gelu, approximate="tanh")
QUICK = quick_neighbors(FAANSettings, num_layers=1, num_heads=2, encoder_dropout=0.1)


def make(**changes):
    return FAANMethod(replace(QUICK, **changes))


def test_adaptive_attention_by_hand():
    """Two neighbors of the first entity, none of the second: w B r decides, and nothing is attended to."""
    encoder = AdaptiveNeighborEncoder(width=2)
    matrix = torch.tensor([[0.0, 1.0], [2.0, 0.0]])  # B
    with torch.no_grad():
        encoder.compare.weight.copy_(matrix.T)
        encoder.gather.weight.copy_(torch.eye(2))
        encoder.keep.weight.zero_()
    own = torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    pair_relations = torch.tensor([[1.0, 1.0], [1.0, 0.0]])  # w B of the first is (2, 1)
    relations = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # logits 2 and 1
    entities = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    neighborhoods = Neighborhoods(torch.zeros(2), torch.zeros(2), torch.tensor([0, 0]), torch.tensor([2, 0]))
    weight = math.e / (math.e + 1)
    gathered = [weight + (1 - weight), weight - (1 - weight)]
    expected = functional.layer_norm(torch.tensor([[gathered[0] + 1, gathered[1]], [0.0, 3.0]]), (2,))
    torch.testing.assert_close(encoder(own, pair_relations, neighborhoods, relations, entities), expected)


def test_one_head_in_all_pairs_is_encoded_as_if_it_stood_in_each():
    torch.manual_seed(0)
    encoder = AdaptiveNeighborEncoder(width=3)
    own, pair_relations = torch.randn(1, 3).expand(4, 3), torch.randn(4, 3)
    relations, entities = torch.randn(2, 3), torch.randn(2, 3)
    once = Neighborhoods(torch.zeros(2), torch.zeros(2), torch.tensor([0, 0]), torch.tensor([2]))
    owners = torch.arange(4).repeat_interleave(2)
    each = Neighborhoods(torch.zeros(8), torch.zeros(8), owners, torch.full((4,), 2))
    expected = encoder(own, pair_relations, each, relations.repeat(4, 1), entities.repeat(4, 1))
    torch.testing.assert_close(encoder(own, pair_relations, once, relations, entities), expected)


def test_a_query_listens_to_the_examples_that_are_like_it():
    support, queries = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([[3.0, 1.0]])
    logits = [6 / math.sqrt(2), 2 / math.sqrt(2)]
    weight = 1 / (1 + math.exp(logits[1] - logits[0]))
    expected = 3 * 2 * weight + 1 * 2 * (1 - weight)
    assert FAAN.score(queries, support).item() == pytest.approx(expected)


def published_block(block, width, num_heads):
    """A block of torch's own with the same weights."""
    theirs = nn.TransformerEncoderLayer(width, num_heads, 2 * width, 0.0, GELU, batch_first=True)
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([block.query.weight, block.key_value.weight]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([block.query.bias, block.key_value.bias]))
        for ours, other in [
            (block.attention_output, theirs.self_attn.out_proj),
            (block.attention_norm, theirs.norm1),
            (block.widen, theirs.linear1),
            (block.narrow, theirs.linear2),
            (block.output_norm, theirs.norm2),
        ]:
            other.load_state_dict(ours.state_dict())
    return theirs


def test_pairs_are_encoded_like_by_blocks_of_torch():
    torch.manual_seed(0)
    encoder = PairTransformer(width=4, num_layers=2, num_heads=3, dropout=0.0)
    heads, tails = torch.randn(5, 4), torch.randn(5, 4)
    tokens = torch.stack([heads, encoder.relation.expand(5, 4), tails], dim=1) + sinusoids(3, 4)
    states = torch.cat([tokens] * 3, dim=2)  # each head sees all of it
    for block in encoder.blocks:
        states = published_block(block, 12, 3)(states)
    torch.testing.assert_close(encoder(heads, tails), states[:, 1])


def test_positions_are_sines_and_cosines():
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    assert sinusoids(2, 4).flatten().tolist() == pytest.approx([value for row in expected for value in row])


def test_the_released_split_mixes_tokens_and_heads():
    """Three tokens of two heads are six pieces; each head takes the next three, whatever they are."""
    torch.manual_seed(0)
    block = PairBlock(4, num_heads=2, dropout=0.0, match_released_code=True)
    queries, keys, values = torch.randn(3, 1, 3, 4)
    pieces = [part.reshape(6, 2) for part in (queries[0], keys[0], values[0])]
    mixed = []
    for chosen in (slice(0, 3), slice(3, 6)):
        asked, found, taken = (part[chosen] for part in pieces)
        mixed.append((asked @ found.T * (2 // 2) ** -0.5).softmax(1) @ taken)
    torch.testing.assert_close(block.attend(queries, keys, values)[0], torch.cat(mixed).reshape(3, 4))


def plain_side(module, graph, entity, pair_relation, max_neighbors):
    symbols, encoder = module.symbols, module.neighbors
    own, matrix = symbols.entities.weight[entity], encoder.compare.weight.T
    edges = edges_of(graph, entity)[:max_neighbors]
    logits = torch.stack([pair_relation @ matrix @ symbols.relations.weight[relation] for relation, _ in edges])
    weights = logits.softmax(0)
    gathered = sum(weight * symbols.entities.weight[other] for weight, (_, other) in zip(weights, edges, strict=True))
    return encoder.norm(torch.relu(encoder.gather(gathered) + encoder.keep(own)) + own)


def plain_scores(method, graph, support, head, tails):
    module = method.module

    def pair(start, end):
        relation = module.symbols.entities.weight[end] - module.symbols.entities.weight[start]
        sides = [plain_side(module, graph, e, relation, method.settings.max_neighbors)[None] for e in (start, end)]
        return module.pairs(*sides)[0]

    examples = torch.stack([pair(*example) for example in support.tolist()])
    scores = []
    for tail in tails.tolist():
        query = pair(head, tail)
        weights = (examples @ query / len(query) ** 0.5).softmax(0)
        scores.append(((weights[:, None] * examples).sum(0) @ query).item())
    return scores


@pytest.mark.parametrize(
    "change",
    [{}, {"regime": "in-train", "num_negatives": 2}, {"match_released_code": True}, {"num_layers": 2}],
    ids=str,
)
def test_every_variant_trains_and_scores_like_the_plain_way(tiny, change):
    method = make(**change)
    fit(method, tiny, 3)
    asked = question(tiny)
    with torch.inference_mode():
        expected = plain_scores(method, tiny.graph, *asked)
    np.testing.assert_allclose(method.score(*asked), expected, atol=1e-4)


def test_a_graph_without_background_edges_can_be_learned_from(tiny):
    bare = replace(tiny, graph=tiny.graph.without_relations(np.arange(tiny.graph.num_relations)))
    method = make(steps=2)
    fit(method, bare, 3)
    assert np.isfinite(method.score(*question(bare))).all()


def test_it_overfits_a_tiny_graph(tiny):
    assert memorized_mrr(make(steps=150, dropout=0.0, encoder_dropout=0.0, width=16), tiny) > 0.9


def test_resuming_gives_the_weights_of_an_uninterrupted_run(tiny, tmp_path):
    assert_resumes_to_the_same_weights(make, tiny, tmp_path, stop_at=13)


def test_query_triples_of_any_split_change_nothing(tiny):
    assert_queries_change_nothing(make, tiny)
