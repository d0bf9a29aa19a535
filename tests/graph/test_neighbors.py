import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.neighbors import NeighborSampler

TRIPLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=60, unique=True
)
SEEDS = st.none() | st.integers(0, 5)


def as_graph(triples):
    return make_graph([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples])


def edges_of(graph, entity):
    relations, entities = graph.adjacency.edges(entity)
    return list(zip(relations.tolist(), entities.tolist(), strict=True))


def found_edges(found, row):
    pairs = list(zip(found.relations[row].tolist(), found.entities[row].tolist(), strict=True))
    count = int(found.counts[row])
    assert pairs[count:] == [(-1, -1)] * (len(pairs) - count)
    return pairs[:count]


@given(TRIPLES, st.integers(1, 6), SEEDS)
def test_each_entity_has_distinct_edges_as_many_as_there_are(triples, count, seed):
    graph = as_graph(triples)
    rng = None if seed is None else np.random.default_rng(seed)
    found = NeighborSampler(graph).sample(np.arange(graph.num_entities), count, rng)
    for entity in range(graph.num_entities):
        every, edges = edges_of(graph, entity), found_edges(found, entity)
        assert len(edges) == len(set(edges)) == min(count, len(every))
        assert set(edges) <= set(every)
        if seed is None:
            assert edges == every[:count]


@given(TRIPLES, st.integers(1, 6), SEEDS)
def test_a_hidden_relation_is_seen_from_nowhere(triples, count, seed):
    graph = as_graph(triples)
    rng = None if seed is None else np.random.default_rng(seed)
    found = NeighborSampler(graph).sample(np.arange(graph.num_entities), count, rng, HiddenEdges.of(0))
    for entity in range(graph.num_entities):
        edges = found_edges(found, entity)
        assert all(graph.base(relation) != 0 for relation, _ in edges)
        assert set(edges) <= set(edges_of(graph, entity))


@given(TRIPLES, st.integers(1, 6), SEEDS)
def test_a_hidden_edge_leaves_room_for_another(triples, count, seed):
    graph = as_graph(triples)
    rng = None if seed is None else np.random.default_rng(seed)
    heads, relations, tails = (a.astype(np.int64) for a in (graph.head_ids, graph.relation_ids, graph.tail_ids))
    found = NeighborSampler(graph).sample(heads, count, rng, HiddenEdges(relations, tails))
    for row in range(graph.num_triples):
        shown = [
            (relation, other)
            for relation, other in edges_of(graph, int(heads[row]))
            if (graph.base(relation), other) != (relations[row], tails[row])
        ]
        edges = found_edges(found, row)
        assert set(edges) <= set(shown)
        num_hidden = len(edges_of(graph, int(heads[row]))) - len(shown)  # two if the triple is there backwards, too
        assert len(edges) >= min(count, len(shown)) - (num_hidden - 1)


def test_every_edge_has_the_same_chance():
    graph = make_graph([("a", "r", f"b{i}") for i in range(10)])
    found = NeighborSampler(graph).sample(np.zeros(4000, dtype=int), 4, np.random.default_rng(0))
    counts = np.bincount(found.entities.ravel(), minlength=11)[1:]
    np.testing.assert_allclose(counts / 4000, 0.4, atol=0.04)


def test_edges_of_rare_relations_can_come_first():
    graph = make_graph([*[("a", "common", f"b{i}") for i in range(5)], ("a", "rare", "z"), ("q", "common", "y")])
    entity, rare = graph.entities.ids(["a"]), graph.relations.id("rare")
    assert rare not in NeighborSampler(graph).sample(entity, 3).relations
    assert NeighborSampler(graph, "rare").sample(entity, 3).relations[0, 0] == rare


def test_a_graph_without_edges_has_no_neighbors():
    graph = make_graph([("a", "r", "b")]).without_relations(np.array([0]))
    for rng in (None, np.random.default_rng(0)):
        assert NeighborSampler(graph).sample(np.array([0, 1]), 3, rng).counts.tolist() == [0, 0]
