import numpy as np
import pytest
import torch

from graphs import make_graph
from learning_checks import edges_of
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.fewshot.neighborhoods import NeighborFinder, Neighborhoods

TRIPLES = [("a", "r", "b"), ("a", "s", "c"), ("d", "r", "a"), ("e", "s", "b"), ("a", "r", "e"), ("f", "r", "f")]


def pairs_of(found, row):
    chosen = found.owners == row
    return list(zip(found.relations[chosen].tolist(), found.entities[chosen].tolist(), strict=True))


def test_neighbors_are_the_first_edges_in_file_order_of_both_directions():
    graph = make_graph(TRIPLES)
    found = NeighborFinder(graph, max_neighbors=3).find(np.arange(graph.num_entities))
    for entity in range(graph.num_entities):
        assert pairs_of(found, entity) == edges_of(graph, entity)[:3]
        assert found.counts[entity] == min(len(edges_of(graph, entity)), 3)


def test_neighbors_are_drawn_without_repeating_one():
    graph = make_graph(TRIPLES)
    a = graph.entities.id("a")
    seen = set()
    for seed in range(10):
        found = NeighborFinder(graph, max_neighbors=3).find(np.array([a]), np.random.default_rng(seed))
        assert len(set(pairs_of(found, 0))) == 3
        seen |= set(pairs_of(found, 0))
    assert seen == set(edges_of(graph, a))


def test_a_hidden_relation_is_seen_in_no_direction():
    graph = make_graph(TRIPLES)
    hidden = graph.relations.id("r")
    everyone = np.arange(graph.num_entities)
    for rng in (None, np.random.default_rng(0)):
        found = NeighborFinder(graph, max_neighbors=4).find(everyone, rng, HiddenEdges.of(hidden))
        assert (graph.base(found.relations.numpy()) != hidden).all()
        assert found.counts[graph.entities.id("f")] == 0


def test_a_neighborhood_is_summed_averaged_and_weighed_by_itself():
    found = Neighborhoods(torch.zeros(3), torch.zeros(3), torch.tensor([0, 0, 2]), torch.tensor([2, 0, 1]))
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert found.sum(values).tolist() == [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]]
    assert found.mean(values).tolist() == [[2.0, 3.0], [0.0, 0.0], [5.0, 6.0]]
    logits = torch.tensor([1e4, 1e4 + np.log(3.0), -1e4])  # large ones must not overflow
    assert found.softmax(logits).tolist() == pytest.approx([0.25, 0.75, 1.0], abs=1e-3)


def test_padding_takes_part_in_the_softmax_only_if_asked_to():
    found = Neighborhoods(torch.zeros(2), torch.zeros(2), torch.tensor([0, 0]), torch.tensor([2, 0]))
    logits, padding = torch.tensor([1.0, 2.0]), torch.tensor(0.5)
    dense = torch.tensor([1.0, 2.0, 0.5, 0.5, 0.5]).softmax(0)[:2]
    torch.testing.assert_close(found.softmax(logits, padding, 5), dense)


def test_an_entity_can_be_known_by_a_single_neighbor():
    graph = make_graph(TRIPLES)
    found = NeighborFinder(graph, max_neighbors=1).find(np.arange(graph.num_entities))
    assert [pairs_of(found, entity) for entity in range(graph.num_entities)] == [
        edges_of(graph, entity)[:1] for entity in range(graph.num_entities)
    ]
