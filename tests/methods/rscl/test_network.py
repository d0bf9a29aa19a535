from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from graphs import make_graph
from tripleshot.graph.trigrams import normalise, trigrams
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.rscl.contexts import ContextBatch, ContextExtractor
from tripleshot.methods.rscl.network import RSCL, Representation, TextEncoder
from tripleshot.methods.rscl.tokens import MASK, NUM_SPECIAL, PAD, Tokens


@pytest.fixture
def batch(tiny, extractor):
    pairs = np.concatenate([tiny.test[0].pairs, tiny.test[1].pairs])
    return ContextBatch.of(extractor.extract(pairs[:, 0], pairs[:, 1]), extractor)


def make(extractor, **choices):
    torch.manual_seed(0)
    return RSCL(len(extractor.tokens), extractor.max_neighbors, width=12, num_layers=2, num_heads=4, **choices).eval()


def plain_states(model, batch):
    """Run every slot of every context, padding included, one context at a time."""
    rows = []
    for tokens, positions in zip(batch.tokens, batch.positions, strict=True):
        present = tokens != PAD
        states = model.embedding_norm(model.elements(tokens) + model.positions(positions))[present]
        for block in model.encoder.blocks:
            width = block.head_width
            keys, values = block.key_value(states).chunk(2, dim=-1)
            queries = block.query(states)
            mixed = []
            for head in range(block.num_heads):
                part = slice(head * width, (head + 1) * width)
                weights = (queries[:, part] @ keys[:, part].T / width**0.5).softmax(1)
                mixed.append(weights @ values[:, part])
            states = block.attention_norm(states + block.attention_output(torch.cat(mixed, dim=1)))
            states = block.output_norm(states + block.narrow(functional.gelu(block.widen(states))))
        full = torch.zeros(len(tokens), states.shape[1])
        full[present] = states
        rows.append(full)
    return torch.stack(rows)


def plain_local(model, states, batch, row):
    """Equations 6 to 11, written out for one triple."""
    local, center = model.local_encoder, 2 * batch.max_neighbors
    head, relation, tail = states[row, center], states[row, center + 1], states[row, center + 2]

    def side(entity, pairs):
        if not pairs:
            return entity
        combined = torch.stack([local.combine(torch.cat([states[row, e], states[row, r]])) for e, r in pairs])
        weights = functional.leaky_relu(local.weigh(combined).squeeze(1)).softmax(0)
        return entity + local.return_to_width((weights[:, None] * combined).sum(0))

    heads = [(center - 2 - 2 * j, center - 1 - 2 * j) for j in range(int(batch.direct_heads[row]))]
    tails = [(center + 4 + 2 * j, center + 3 + 2 * j) for j in range(int(batch.direct_tails[row]))]
    related = local.relate(relation)
    return local.norm(torch.cat([side(head, heads) + related, side(tail, tails) + related]))


def test_representations_agree_with_the_equations_written_out(extractor, batch):
    model = make(extractor)
    states, found = plain_states(model, batch), model(batch)
    center = 2 * batch.max_neighbors
    torch.testing.assert_close(found.globally, states[:, center : center + 3].mean(1), atol=1e-5, rtol=1e-4)
    for row in range(len(batch.tokens)):
        torch.testing.assert_close(found.locally[row], plain_local(model, states, batch, row), atol=1e-5, rtol=1e-4)


def test_the_score_interpolates_two_attended_similarities(extractor):
    """One query, two examples, by hand: G = (1, 0), examples (1, 0) and (0, 2)."""
    model = make(extractor, global_share=0.4, scale_attention=False)
    query = Representation(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
    support = Representation(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, 3.0]]))
    e = np.e
    globally = e / (e + 1)  # weights softmax(1, 0); prototype (e/(e+1), 2/(e+1)); dot with (1, 0)
    locally = (e * 1 + e**3 * 3) / (e + e**3)  # weights softmax(1, 3)
    expected = 0.4 * globally + 0.6 * locally
    assert model.score(query, support).item() == pytest.approx(expected, rel=1e-5)


def test_with_one_example_its_weight_is_one(extractor, batch):
    model = make(extractor)
    encoded = model(batch)
    one = encoded.rows(0, 1)
    expected = 0.4 * encoded.globally @ one.globally[0] + 0.6 * encoded.locally @ one.locally[0]
    torch.testing.assert_close(model.score(encoded, one), expected)


@pytest.mark.parametrize(("share", "level"), [(1.0, "globally"), (0.0, "locally")])
def test_lambda_at_its_ends_listens_to_one_level_only(extractor, batch, share, level):
    model = make(extractor, global_share=share)
    encoded = model(batch)
    other = Representation(
        encoded.globally if level == "globally" else torch.zeros_like(encoded.globally),
        encoded.locally if level == "locally" else torch.zeros_like(encoded.locally),
    )
    torch.testing.assert_close(model.score(encoded, encoded.rows(0, 3)), model.score(other, other.rows(0, 3)))


def test_without_the_global_encoder_the_local_one_reads_raw_embeddings(extractor, batch):
    model = make(extractor, use_global=False)
    assert model.encoder is None
    assert model.global_share == 0
    states = model.embedding_norm(model.elements(batch.tokens) + model.positions(batch.positions))
    for row in range(5):
        expected = plain_local(model, states, batch, row)
        torch.testing.assert_close(model(batch).locally[row], expected, atol=1e-5, rtol=1e-4)


def test_without_the_local_encoder_only_the_global_level_counts(extractor, batch):
    model, full = make(extractor, use_local=False), make(extractor)
    full.load_state_dict(model.state_dict(), strict=False)
    torch.testing.assert_close(model(batch).globally, full(batch).globally, atol=1e-5, rtol=1e-4)
    assert model.global_share == 1
    assert model.score(model(batch), model(batch).rows(0, 2)).shape == (len(batch.tokens),)


def test_gradients_reach_every_parameter(extractor, batch):
    model = make(extractor).train()
    encoded = model(batch)
    model.score(encoded.rows(5), encoded.rows(0, 5)).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_an_entity_without_neighbors_has_a_representation(tiny):
    names = [*tiny.graph.entities.names.to_pylist(), "lonely"]
    graph = replace(tiny.graph, entities=Vocabulary.of("entity", names))
    extractor = ContextExtractor(graph, Tokens(graph.num_relations, 0, graph.num_entities), 4, 2)
    lonely = np.array([len(names) - 1])
    batch = ContextBatch.of(extractor.extract(lonely, lonely), extractor)
    model = make(extractor).train()
    encoded = model(batch)
    assert torch.isfinite(encoded.locally).all()
    encoded.locally.square().sum().backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.isfinite(g.coalesce().values() if g.is_sparse else g).all() for g in grads)


def test_the_order_of_neighbors_does_not_matter(extractor, batch):
    """Direct neighbors share their position, so that they are aggregated as a set."""
    model = make(extractor)
    rows = torch.nonzero(batch.direct_tails >= 2).squeeze(1)[:1]
    tokens = batch.tokens.clone()
    first, second = 2 * batch.max_neighbors + 3, 2 * batch.max_neighbors + 5
    tokens[rows, first : first + 2] = batch.tokens[rows, second : second + 2]
    tokens[rows, second : second + 2] = batch.tokens[rows, first : first + 2]

    swapped = model(replace(batch, tokens=tokens))
    torch.testing.assert_close(swapped.globally, model(batch).globally, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(swapped.locally, model(batch).locally, atol=1e-5, rtol=1e-4)


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
