import numpy as np
import pytest
import torch

from graphs import make_graph
from tripleshot.graph.trigrams import normalise, trigrams
from tripleshot.methods.rscl.contexts import MASK, NUM_SPECIAL, PAD, Tokens
from tripleshot.methods.rscl.text_encoder import TextEncoder


@pytest.fixture
def graph():
    return make_graph([("New York", "twin of", "York"), ("York", "in", "England"), ("Ö", "in", "England")])


def codes_of(vocabulary, index):
    codes, owners = trigrams(normalise(vocabulary.names))
    return np.unique(codes[owners == index])


def test_a_token_is_the_mean_of_its_trigrams(graph):
    tokens = Tokens(graph.num_relations, 2, graph.num_entities)
    encoder = TextEncoder(graph, tokens, 6)
    relation, entity = 1, 2
    asked = [tokens.relations(np.array([relation]))[0], tokens.entities(np.array([entity]))[0]]
    asked.append(NUM_SPECIAL + graph.num_relations + relation)  # the inverse is called the same
    found = encoder(torch.tensor([*asked, PAD, MASK, tokens.first_task]))
    for row, (vocabulary, index) in enumerate(((graph.relations, relation), (graph.entities, entity))):
        rows = torch.from_numpy(codes_of(vocabulary, index).astype(np.int64))
        torch.testing.assert_close(found[row], encoder.trigrams.weight[rows].mean(0))
    torch.testing.assert_close(found[2], found[0])
    assert not found[3:].any()


def test_gradients_touch_only_trigrams_in_use(graph):
    encoder = TextEncoder(graph, Tokens(graph.num_relations, 0, graph.num_entities), 4)
    encoder(torch.tensor([NUM_SPECIAL, NUM_SPECIAL])).sum().backward()
    gradient = encoder.trigrams.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert set(gradient.coalesce().indices()[0].tolist()) == set(codes_of(graph.relations, 0).tolist())


def test_names_are_not_kept_with_the_weights(graph):
    encoder = TextEncoder(graph, Tokens(graph.num_relations, 0, graph.num_entities), 4)
    assert list(encoder.state_dict()) == ["trigrams.weight"]
