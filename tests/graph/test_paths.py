"""Links, common neighbors and paths, of many pairs and of one, against plain loops over the triples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of_ids, make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.paths import Connection, PairIndex, find_connections
from tripleshot.graph.vocabulary import Vocabulary

NUM_ENTITIES, NUM_RELATIONS = 7, 3
TRIPLE = st.tuples(
    st.integers(0, NUM_ENTITIES - 1), st.integers(0, NUM_RELATIONS - 1), st.integers(0, NUM_ENTITIES - 1)
)
GRAPHS = st.lists(TRIPLE, max_size=30)
PAIRS = [(head, tail) for head in range(NUM_ENTITIES) for tail in range(NUM_ENTITIES)]
HEADS, TAILS = np.array(PAIRS).T


def graph_of(triples):
    return graph_of_ids(triples, NUM_ENTITIES, NUM_RELATIONS)


def plain_edges(triples, hidden):
    """Every edge in both directions: (from, relation, to)."""
    seen = [(h, r, t) for h, r, t in triples if r != hidden]
    return [(h, r, t) for h, r, t in seen] + [(t, r + NUM_RELATIONS, h) for h, r, t in seen]


@given(GRAPHS, st.integers(-1, NUM_RELATIONS - 1))
def test_links_are_those_of_the_triples(triples, hidden):
    owners, relations = PairIndex(graph_of(triples)).links(HEADS, TAILS, HiddenEdges.of(hidden))
    edges = plain_edges(triples, hidden)
    expected = sorted((place, r) for place, pair in enumerate(PAIRS) for a, r, b in edges if (a, b) == pair)
    assert sorted(zip(owners.tolist(), relations.tolist(), strict=True)) == expected


@given(GRAPHS, st.integers(-1, NUM_RELATIONS - 1))
def test_common_neighbors_and_paths_are_those_of_the_triples(triples, hidden):
    index, edges = PairIndex(graph_of(triples)), plain_edges(triples, hidden)
    common = index.common(HEADS, TAILS, HiddenEdges.of(hidden))
    near = {entity: {b for a, _, b in edges if a == entity} for entity in range(NUM_ENTITIES)}
    expected = {(place, m) for place, (h, t) in enumerate(PAIRS) for m in near[h] & near[t] - {h, t}}
    found = list(zip(common.owners.tolist(), common.middles.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == expected
    owners, first, second = index.paths(common, HiddenEdges.of(hidden))
    spelled = sorted(
        (place, r1, r2)
        for place, (h, t) in enumerate(PAIRS)
        for a, r1, m in edges
        for b, r2, c in edges
        if a == h and b == m and c == t and m not in (h, t)
    )
    assert sorted(zip(owners.tolist(), first.tolist(), second.tolist(), strict=True)) == spelled


def test_a_pair_joined_by_another_relation_too_stays_joined():
    graph = make_graph([("a", "likes", "b"), ("a", "knows", "b"), ("b", "knows", "c")])
    index = PairIndex(graph)
    _, relations = index.links(np.array([0]), np.array([1]), hidden=HiddenEdges.of(0))
    assert relations.tolist() == [1]
    assert index.common(np.array([0]), np.array([2]), hidden=HiddenEdges.of(0)).middles.tolist() == [1]


def test_each_pair_may_hide_a_relation_of_its_own():
    graph = make_graph([("a", "likes", "b"), ("a", "knows", "b")])
    hidden = HiddenEdges(np.array([1, -1, 0]))
    owners, relations = PairIndex(graph).links(np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64), hidden)
    assert list(zip(owners.tolist(), relations.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 1)]


def test_single_edges_cannot_be_hidden_from_pairs():
    index = PairIndex(make_graph([("a", "likes", "b")]))
    with pytest.raises(ValueError, match="found single edges"):
        index.links(np.array([0]), np.array([1]), HiddenEdges(np.array([0]), np.array([1])))


def test_a_graph_without_triples_joins_nothing():
    names = Vocabulary.of("entity", ["a", "b"])
    nothing = np.empty(0, dtype=np.int32)
    index = PairIndex(KnowledgeGraph(names, Vocabulary.of("relation", []), nothing, nothing, nothing))
    pair = np.array([0]), np.array([1])
    assert len(index.links(*pair)[0]) == 0
    assert len(index.common(*pair).owners) == 0


@pytest.mark.parametrize("hidden", [HiddenEdges.none(), HiddenEdges.of(0)])
def test_no_pairs_are_no_answer(hidden):
    index = PairIndex(make_graph([("a", "likes", "b")]))
    nobody = np.empty(0, dtype=np.int64)
    assert len(index.paths(index.common(nobody, nobody, hidden), hidden)[0]) == 0


def brute_force(triples, head, tail):
    """Try every link and every pair of links."""
    edges = {(h, r, t) for h, r, t in triples} | {(t, r + NUM_RELATIONS, h) for h, r, t in triples}
    links = {Connection((r,), (head, tail)) for h, r, t in edges if (h, t) == (head, tail)}
    paths = {
        Connection((first, second), (head, middle, tail))
        for h, first, middle in edges
        for m, second, t in edges
        if h == head and t == tail and m == middle and middle not in (head, tail)
    }
    return links | paths


@given(GRAPHS, st.integers(0, NUM_ENTITIES - 1), st.integers(0, NUM_ENTITIES - 1))
def test_connections_are_what_trying_everything_finds(triples, head, tail):
    found = find_connections(graph_of(triples), head, tail, limit=1000)
    assert len(set(found)) == len(found)
    assert set(found) == brute_force(triples, head, tail)


@given(GRAPHS, st.integers(0, NUM_ENTITIES - 1), st.integers(0, NUM_ENTITIES - 1), st.integers(1, 10))
def test_a_limit_gives_the_first_ones(triples, head, tail, limit):
    graph = graph_of(triples)
    assert find_connections(graph, head, tail, limit) == find_connections(graph, head, tail, 1000)[:limit]


def test_links_come_before_paths_and_rare_middles_before_hubs():
    triples = [("a", "near", "hub"), ("hub", "near", "b"), ("a", "near", "rare"), ("rare", "near", "b")]
    triples += [("hub", "near", f"other {i}") for i in range(5)] + [("b", "knows", "a"), ("a", "likes", "b")]
    graph = make_graph(triples)
    a, b, hub, rare = graph.entities.ids(["a", "b", "hub", "rare"]).tolist()
    near, knows, likes = graph.relations.ids(["near", "knows", "likes"]).tolist()
    assert find_connections(graph, a, b) == (
        Connection((likes,), (a, b)),
        Connection((graph.inverse(knows),), (a, b)),
        Connection((near, near), (a, rare, b)),
        Connection((near, near), (a, hub, b)),
    )


def test_hubs_are_joined_without_spelling_out_every_path():
    """Two hubs that share 200,000 neighbors have as many paths; only the first few are made."""
    count = 200_000
    middles = np.arange(2, count + 2, dtype=np.int32)
    graph = KnowledgeGraph(
        Vocabulary.of("entity", map(str, range(count + 2))),
        Vocabulary.of("relation", ["near"]),
        np.repeat(np.array([0, 1], dtype=np.int32), count),
        np.zeros(2 * count, dtype=np.int32),
        np.tile(middles, 2),
    )
    found = find_connections(graph, 0, 1)
    assert [connection.entities[1] for connection in found] == list(range(2, 22))
