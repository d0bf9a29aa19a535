import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.graph.connections import Connection, find_connections
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary

ENTITIES, RELATIONS = 6, 3
TRIPLES = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=25
)


def graph_of(triples):
    heads, relations, tails = np.array(triples, dtype=np.int32).reshape(-1, 3).T
    entities = Vocabulary.of("entity", [f"e{i}" for i in range(ENTITIES)])
    names = Vocabulary.of("relation", [f"r{i}" for i in range(RELATIONS)])
    return KnowledgeGraph(entities, names, heads, relations, tails)


def brute_force(triples, head, tail):
    """Try every link and every pair of links."""
    edges = {(h, r, t) for h, r, t in triples} | {(t, r + RELATIONS, h) for h, r, t in triples}
    links = {Connection((r,), (head, tail)) for h, r, t in edges if (h, t) == (head, tail)}
    paths = {
        Connection((first, second), (head, middle, tail))
        for h, first, middle in edges
        for m, second, t in edges
        if h == head and t == tail and m == middle and middle not in (head, tail)
    }
    return links | paths


@given(TRIPLES, st.integers(0, ENTITIES - 1), st.integers(0, ENTITIES - 1))
def test_connections_are_what_trying_everything_finds(triples, head, tail):
    found = find_connections(graph_of(triples), head, tail, limit=1000)
    assert len(set(found)) == len(found)
    assert set(found) == brute_force(triples, head, tail)


@given(TRIPLES, st.integers(0, ENTITIES - 1), st.integers(0, ENTITIES - 1), st.integers(1, 10))
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
