from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.neighbors import NeighborOrder
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.tokens import NUM_SPECIAL, PAD, RELATION, Tokens

TRIPLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=60, unique=True
)
SIZES = st.tuples(st.integers(3, 6), st.integers(0, 4))
SEEDS = st.none() | st.integers(0, 5)


def extractor_of(graph, p=3, q=2, order: NeighborOrder = "file"):
    tokens = Tokens(graph.num_relations, 0, graph.num_entities)
    return ContextExtractor(graph, tokens, p, q, order)


def as_graph(triples):
    return make_graph([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples])


def edges_of(graph):
    """Edges that leave each entity, inverses included, the plain way."""
    edges = defaultdict(list)
    for h, r, t in zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True):
        edges[h].append((r, t))
        edges[t].append((r + graph.num_relations, h))
    return edges


def read_token(graph, tokens, token):
    if token == PAD:
        return "[PAD]"
    if token == RELATION:
        return "[REL]"
    if token >= tokens.first_entity:
        return graph.entities.name(int(token) - tokens.first_entity)
    return graph.relation_label(int(token) - NUM_SPECIAL)


def direct_pairs(graph, found, row):
    """Direct pairs of a row, with inverse relations read as the relations themselves."""
    direct = slice(0, int(found.num_direct[row]))
    return set(zip(found.relations[row, direct] % graph.num_relations, found.entities[row, direct], strict=True))


def test_the_papers_own_example_has_the_papers_positions():
    """Excel, produced by, Microsoft: one direct and two distant neighbors, two direct and one distant (Figure 3)."""
    graph = make_graph(
        [
            ("Office", "contains", "Excel"),
            ("Word", "part of", "Office"),
            ("Windows", "runs", "Office"),
            ("Microsoft", "competes with", "Twitter"),
            ("Microsoft", "develops", "Media player"),
            ("Twitter", "founded by", "Dorsey"),
        ]
    )
    extractor = extractor_of(graph)
    contexts = extractor.extract(graph.entities.ids(["Excel"]), graph.entities.ids(["Microsoft"]))
    positions = extractor.positions(contexts)[0]
    assert positions.tolist() == [2, 3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 10, 11, 12]
    words = [read_token(graph, extractor.tokens, token) for token in contexts.tokens[0]]
    assert words == [
        *("Windows", "runs", "Word", "part of", "Office", "contains"),
        *("Excel", "[REL]", "Microsoft"),
        *("competes with", "Twitter", "develops", "Media player", "founded by", "Dorsey"),
    ]


def test_an_edge_that_leaves_the_head_is_read_backwards():
    graph = make_graph([("moylan", "brother of", "andrew"), ("mlb", "players", "moylan"), ("x", "r", "y")])
    extractor = extractor_of(graph)
    contexts = extractor.extract(graph.entities.ids(["moylan"]), graph.entities.ids(["y"]))
    words = [read_token(graph, extractor.tokens, token) for token in contexts.tokens[0]]
    assert words == [
        *("[PAD]", "[PAD]", "mlb", "players", "andrew", "brother of_inv"),
        *("moylan", "[REL]", "y", "r_inv", "x", "[PAD]", "[PAD]", "[PAD]", "[PAD]"),
    ]


@given(TRIPLES, SIZES, SEEDS)
def test_neighbors_are_true_edges_direct_first_and_as_many_as_fit(triples, sizes, seed):
    graph, (p, q) = as_graph(triples), sizes
    edges = edges_of(graph)
    rng = None if seed is None else np.random.default_rng(seed)
    entities = np.arange(graph.num_entities)
    found = extractor_of(graph, p, q).neighbors(entities, rng)
    for entity in entities.tolist():
        direct, count = int(found.num_direct[entity]), int(found.num_pairs[entity])
        pairs = list(zip(found.relations[entity].tolist(), found.entities[entity].tolist(), strict=True))
        assert direct == min(p, len(edges[entity]))
        assert len(set(pairs[:direct])) == direct
        assert set(pairs[:direct]) <= set(edges[entity])
        if seed is None:
            assert pairs[:direct] == edges[entity][:p]
        around = {
            pair for _, middle in edges[entity] if middle != entity for pair in edges[middle] if pair[1] != entity
        }
        assert set(pairs[direct:count]) <= around
        assert count - direct <= min(q, p - direct)
        others = [other for _, other in edges[entity]]
        if around and direct < p and q and len(set(others)) == len(others):
            assert count > direct
        assert pairs[count:] == [(-1, -1)] * (p - count)


@given(TRIPLES, SIZES, SEEDS)
def test_a_context_has_its_fixed_size_and_no_padding_inside(triples, sizes, seed):
    graph, (p, q) = as_graph(triples), sizes
    extractor = extractor_of(graph, p, q)
    rng = None if seed is None else np.random.default_rng(seed)
    heads, tails = np.arange(graph.num_entities), np.arange(graph.num_entities)[::-1]
    contexts = extractor.extract(heads, tails, RELATION, rng)
    positions = extractor.positions(contexts)
    assert contexts.tokens.shape == (graph.num_entities, 4 * p + 3)
    assert (contexts.tokens[:, 2 * p] == extractor.tokens.entities(heads)).all()
    assert (contexts.tokens[:, 2 * p + 2] == extractor.tokens.entities(tails)).all()
    present = contexts.tokens != PAD
    assert (np.diff(present[:, : 2 * p + 1].astype(int), axis=1) >= 0).all()
    assert (np.diff(present[:, 2 * p :].astype(int), axis=1) <= 0).all()
    assert ((positions == 0) == ~present).all()
    assert (np.where(present, positions, 2 * p)[:, : 2 * p] < 2 * p + 1).all()
    is_entity = contexts.tokens >= extractor.tokens.first_entity
    odd = np.arange(4 * p + 3) % 2 == 1
    assert not (is_entity & odd).any()


@given(TRIPLES, SIZES, SEEDS)
def test_the_target_edge_is_in_neither_context_of_pre_training(triples, sizes, seed):
    graph, (p, q) = as_graph(triples), sizes
    extractor = extractor_of(graph, p, q)
    rng = None if seed is None else np.random.default_rng(seed)
    heads, relations, tails = (a.astype(np.int64) for a in (graph.head_ids, graph.relation_ids, graph.tail_ids))
    around_heads = extractor.neighbors(heads, rng, HiddenEdges(relations, tails))
    around_tails = extractor.neighbors(tails, rng, HiddenEdges(relations, heads))
    for row in range(graph.num_triples):
        assert (relations[row], tails[row]) not in direct_pairs(graph, around_heads, row)
        assert (relations[row], heads[row]) not in direct_pairs(graph, around_tails, row)


@given(TRIPLES, SIZES, SEEDS)
def test_a_hidden_relation_is_nowhere_in_the_context(triples, sizes, seed):
    graph, (p, q) = as_graph(triples), sizes
    extractor = extractor_of(graph, p, q)
    rng = None if seed is None else np.random.default_rng(seed)
    heads, tails = np.arange(graph.num_entities), np.arange(graph.num_entities)[::-1]
    hidden = HiddenEdges(np.zeros(graph.num_entities, dtype=np.int64))
    contexts = extractor.extract(heads, tails, RELATION, rng, hidden)
    forbidden = extractor.tokens.relations(np.array([0, graph.num_relations]))
    assert not np.isin(contexts.tokens, forbidden).any()


def test_without_a_generator_the_same_context_comes_every_time_and_with_one_another():
    graph = make_graph([("a", f"r{i}", f"b{i}") for i in range(30)] + [("c", "r0", "d")])
    extractor = extractor_of(graph)
    heads, tails = graph.entities.ids(["a"] * 20), graph.entities.ids(["d"] * 20)
    fixed = extractor.extract(heads, tails).tokens
    assert (fixed == fixed[0]).all()
    drawn = extractor.extract(heads, tails, RELATION, np.random.default_rng(0)).tokens
    assert len(np.unique(drawn, axis=0)) > 10


def test_rare_relations_can_come_first():
    graph = make_graph([*[("a", "common", f"b{i}") for i in range(5)], ("a", "rare", "z"), ("q", "common", "y")])
    entity = graph.entities.ids(["a"])
    rare = graph.relations.id("rare")
    assert rare not in extractor_of(graph, p=3).neighbors(entity).relations
    assert extractor_of(graph, p=3, order="rare").neighbors(entity).relations[0, 0] == rare


def test_one_hub_does_not_take_all_places_of_distant_neighbors():
    triples = [("a", "r", "hub"), ("a", "r", "small"), ("small", "s", "end")] + [
        ("hub", "s", f"x{i}") for i in range(50)
    ]
    graph = make_graph(triples)
    found = extractor_of(graph, p=6, q=3).neighbors(graph.entities.ids(["a"]))
    assert "end" in {graph.entities.name(int(e)) for e in found.entities[0] if e >= 0}


def test_contexts_do_not_change_when_the_query_triple_leaves_the_tasks(tiny):
    """Contexts come from the background alone: there is nothing else the extractor is given."""
    extractor = extractor_of(tiny.graph)
    pairs = tiny.test[0].queries(3)
    contexts = extractor.extract(pairs[:, 0], pairs[:, 1])
    wrong = extractor.extract(pairs[:, 0], np.roll(pairs[:, 1], 1))
    p = extractor.max_neighbors
    np.testing.assert_array_equal(contexts.tokens[:, : 2 * p + 2], wrong.tokens[:, : 2 * p + 2])


def test_fewer_than_three_neighbors_per_side_are_refused(tiny):
    with pytest.raises(InputError, match="3 or more"):
        extractor_of(tiny.graph, p=2)
