"""Contexts that begin with what joins head and tail, against plain loops over the triples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.rscl.connected import NO_ROLE, OPPOSITE, SHARED, ConnectedExtractor
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.tokens import Tokens

TRIPLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=60, unique=True
)


def graph_of(triples):
    return make_graph([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples])


def extractors_of(graph, p=6, q=2):
    tokens = Tokens(graph.num_relations, 0, graph.num_entities)
    return ConnectedExtractor(graph, tokens, p, q), ContextExtractor(graph, tokens, p, q)


def all_pairs(graph):
    heads, tails = np.divmod(np.arange(graph.num_entities**2), graph.num_entities)
    return heads, tails


def plain_edges(graph, entity, hidden):
    """The edges that leave an entity, inverses included: (relation, other end)."""
    triples = zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True)
    seen = [(h, r, t) for h, r, t in triples if r != hidden]
    return [(r, t) for h, r, t in seen if h == entity] + [
        (r + graph.num_relations, h) for h, r, t in seen if t == entity
    ]


def pairs_of(side, row):
    count = int(side.num_pairs[row])
    columns = (side.relations[row], side.entities[row], side.roles[row])
    return list(zip(*(column[:count].tolist() for column in columns), strict=True))


@given(TRIPLES, st.none() | st.integers(0, 5), st.integers(-1, 2))
def test_what_joins_comes_first(triples, seed, hidden):
    graph = graph_of(triples)
    connected, plain = extractors_of(graph)
    heads, tails = all_pairs(graph)
    rng = None if seed is None else np.random.default_rng(seed)
    hiding = HiddenEdges.of(hidden).take(heads)
    sides = connected.sides(heads, tails, rng, hiding)
    for row, (head, tail) in enumerate(zip(heads.tolist(), tails.tolist(), strict=True)):
        of_both = {entity: plain_edges(graph, entity, hidden) for entity in (head, tail)}
        shared = {other for _, other in of_both[head]} & {other for _, other in of_both[tail]} - {head, tail}
        for side, (own, opposite) in zip(sides, ((head, tail), (tail, head)), strict=True):
            links = sorted({edge for edge in of_both[own] if edge[1] == opposite})
            pairs = pairs_of(side, row)
            num_joining = min(len(links) + len(shared), plain.max_neighbors // 2)
            roles = [OPPOSITE] * min(len(links), num_joining)
            roles += [SHARED] * (num_joining - len(roles))
            assert [role for _, _, role in pairs[:num_joining]] == roles
            assert {role for _, _, role in pairs[num_joining:]} <= {NO_ROLE}
            direct = pairs[: int(side.num_direct[row])]
            assert len(direct) == len(set(direct))
            assert {(relation, other) for relation, other, _ in direct} <= set(of_both[own])
            for relation, other, role in pairs[:num_joining]:
                assert (relation, other) in (links if role == OPPOSITE else of_both[own])
                assert role == OPPOSITE or other in shared


@given(TRIPLES)
def test_the_rest_is_what_plain_contexts_show(triples):
    graph = graph_of(triples)
    connected, plain = extractors_of(graph)
    heads, tails = all_pairs(graph)
    for side, usual in zip(connected.sides(heads, tails), plain.sides(heads, tails), strict=True):
        for row in range(len(heads)):
            count = int(usual.num_pairs[row])
            usually = zip(usual.relations[row, :count].tolist(), usual.entities[row, :count].tolist(), strict=True)
            joining = [(relation, other) for relation, other, role in pairs_of(side, row) if role != NO_ROLE]
            expected = joining + [pair for pair in usually if pair not in joining]
            shown = [(relation, other) for relation, other, _ in pairs_of(side, row)]
            assert shown == expected[: plain.max_neighbors]


def test_one_head_serves_many_tails():
    graph = graph_of([(0, 0, 1), (0, 1, 2), (1, 1, 2), (3, 0, 0), (3, 2, 1)])
    connected, _ = extractors_of(graph)
    tails = np.arange(graph.num_entities)
    once = connected.extract(np.array([0]), tails)
    each = connected.extract(np.zeros(len(tails), dtype=np.int64), tails)
    np.testing.assert_array_equal(once.tokens, each.tokens)
    np.testing.assert_array_equal(once.roles, each.roles)


def test_both_tokens_of_a_pair_have_its_role():
    graph = graph_of([(0, 0, 1), (0, 1, 2), (1, 1, 2)])
    connected, _ = extractors_of(graph)
    contexts = connected.extract(np.array([0]), np.array([1]))
    assert contexts.roles is not None
    p = connected.max_neighbors
    assert contexts.roles[0, 2 * p - 4 : 2 * p].tolist() == [SHARED, SHARED, OPPOSITE, OPPOSITE]
    assert contexts.roles[0, 2 * p : 2 * p + 3].tolist() == [NO_ROLE] * 3
    assert contexts.roles[0, 2 * p + 3 : 2 * p + 7].tolist() == [OPPOSITE, OPPOSITE, SHARED, SHARED]


def test_pre_training_puts_nothing_first():
    graph = graph_of([(0, 0, 1), (0, 1, 2), (1, 1, 2)])
    connected, plain = extractors_of(graph)
    target = HiddenEdges(np.array([0]), np.array([1]))
    contexts = connected.extract(np.array([0]), np.array([1]), hidden=target)
    np.testing.assert_array_equal(contexts.tokens, plain.extract(np.array([0]), np.array([1]), hidden=target).tokens)
    assert contexts.roles is not None
    assert not contexts.roles.any()
