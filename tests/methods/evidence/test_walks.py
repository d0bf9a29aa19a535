"""Walks of three steps, against a plain search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles
from tripleshot.methods.evidence import walks as walks_module
from tripleshot.methods.evidence.walks import ThreeStepWalks

EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=14)


def as_graph(triples):
    named = [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in triples]
    return make_graph([*named, *((f"e{entity}", "r9", "e9") for entity in range(6))])


def index(graph):
    return ThreeStepWalks(graph, PairIndex(graph), RelationProfiles(graph))


def plain_walks(graph, hidden):
    """All (x, y, weight) by head and tail, from matrices of who is next to whom."""
    size = graph.num_entities
    next_to, degrees = np.zeros((size, size), dtype=bool), np.zeros(size)
    for head, relation, tail in zip(graph.head_ids, graph.relation_ids, graph.tail_ids, strict=True):
        if relation != hidden:
            next_to[head, tail] = next_to[tail, head] = True
            degrees[head] += 1
            degrees[tail] += 1
    return {
        (head, tail): [
            (first, last, 1 / degrees[first] / degrees[last])
            for first in np.flatnonzero(next_to[head]).tolist()
            for last in np.flatnonzero(next_to[tail]).tolist()
            if next_to[first, last] and first not in (head, tail) and last != head
        ]
        for head in range(size)
        for tail in range(size)
    }


@given(EDGES, st.sampled_from([None, 0, 1]))
def test_weights_of_walks_are_those_of_the_triples(triples, hidden):
    graph = as_graph(triples)
    ids = {relation: graph.relations.id(f"r{relation}") for _, relation, _ in triples}
    hidden = ids.get(hidden)
    expected = plain_walks(graph, hidden)
    heads, tails = np.array(list(expected)).T
    found = index(graph).weigh(heads, tails, HiddenEdges.of(hidden))
    assert found == pytest.approx([sum(weight for *_, weight in ways) for ways in expected.values()], abs=1e-9)


@given(EDGES)
def test_the_heaviest_walk_is_one_past_the_fewest_edges(triples):
    graph = as_graph(triples)
    walks = index(graph)
    for (head, tail), ways in plain_walks(graph, None).items():
        found = walks.heaviest(head, tail)
        weights = {(first, last): weight for first, last, weight in ways}
        assert (found is None) == (not weights)
        if found is not None:
            assert weights[found] == pytest.approx(max(weights.values()))


def test_a_hub_is_not_the_first_step(monkeypatch):
    graph = make_graph([("a", "r", "hub"), ("hub", "r", "b"), ("b", "r", "c"), ("hub", "r", "d")])
    head, tail = graph.entities.id("a"), graph.entities.id("c")
    assert index(graph).heaviest(head, tail) == (graph.entities.id("hub"), graph.entities.id("b"))
    monkeypatch.setattr(walks_module, "MAX_MIDDLE_DEGREE", 2)
    assert index(graph).heaviest(head, tail) is None
    assert index(graph).weigh(np.array([head]), np.array([tail]), HiddenEdges.none()).tolist() == [0]
