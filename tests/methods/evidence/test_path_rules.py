import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.paths import PairIndex
from tripleshot.methods.evidence import path_rules as paths
from tripleshot.methods.evidence.path_rules import (
    PathTypes,
    find_joining_paths,
    mine_path_rules,
    path_scores,
    walk,
)

TRIPLES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 7)), min_size=1, max_size=40, unique=True
)


def plain_walks(graph, start, max_degree):
    """All (relations of the path, end) of one and two steps, by dicts of lists."""
    edges = defaultdict(list)
    for h, r, t in zip(graph.head_ids.tolist(), graph.relation_ids.tolist(), graph.tail_ids.tolist(), strict=True):
        edges[h].append((r, t))
        edges[t].append((r + graph.num_relations, h))
    found = set()
    for first, middle in edges[start]:
        found.add(((first,), middle))
        if len(edges[middle]) <= max_degree:
            found |= {((first, second), end) for second, end in edges[middle]}
    return {(path, end) for path, end in found if end != start}


def plain_rules(graph, support, max_degree):
    hits, reached = defaultdict(int), defaultdict(int)
    for head, tail in support:
        walks = plain_walks(graph, head, max_degree)
        for path in {path for path, end in walks if end == tail}:
            hits[path] += 1
        for path, _ in walks:
            reached[path] += 1
    return {path: hits[path] / (reached[path] + 2) for path in hits}


def as_graph(triples):
    return make_graph([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples])


@given(TRIPLES, st.sampled_from([1, 3, 100]))
def test_walks_agree_with_a_plain_search(triples, max_degree):
    graph = as_graph(triples)
    types = PathTypes.of(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MAX_MIDDLE_DEGREE", max_degree)
        for start in range(graph.num_entities):
            found = walk(graph, start)
            decoded = {
                (types.decode(path), end)
                for path, end in zip(found.path_types.tolist(), found.ends.tolist(), strict=True)
            }
            assert decoded == plain_walks(graph, start, max_degree)


@given(TRIPLES, st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=4), st.integers(0, 99))
def test_rules_and_scores_agree_with_plain_counting(triples, support, head):
    graph = as_graph(triples)
    n = graph.num_entities
    support = [(h % n, t % n) for h, t in support]
    expected = plain_rules(graph, support, paths.MAX_MIDDLE_DEGREE)
    rules = mine_path_rules(graph, np.array(support))
    types = PathTypes.of(graph)
    found = {types.decode(path): value for path, value in zip(rules.path_types.tolist(), rules.confidence, strict=True)}
    assert found == pytest.approx(expected)

    scores = [0.0] * n
    for path, end in plain_walks(graph, head % n, paths.MAX_MIDDLE_DEGREE):
        if path in expected:
            scores[end] -= math.log(1 - expected[path])
    tails = np.arange(n)[::-1]
    np.testing.assert_allclose(path_scores(graph, rules, head % n, tails), np.array(scores)[tails], atol=1e-12)


@given(
    TRIPLES.map(lambda triples: [(h, r, t) for h, r, t in triples if h != t] or [(0, 0, 1)]),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 98)), min_size=1, max_size=4),
    st.sampled_from([None, 0]),
)
def test_without_loops_an_index_finds_the_rules_that_walking_finds(triples, support, relation):
    graph = as_graph(triples)
    n = graph.num_entities
    heads = np.array([head % n for head, _ in support])
    tails = (heads + 1 + np.array([step % (n - 1) for _, step in support])) % n
    pairs, index, hidden = np.stack([heads, tails], axis=1), PairIndex(graph), HiddenEdges.of(relation)
    links, common = index.links(heads, tails, hidden), index.common(heads, tails, hidden)
    found = mine_path_rules(graph, pairs, hidden, find_joining_paths(index, links, common, hidden))
    expected = mine_path_rules(graph, pairs, hidden)
    np.testing.assert_array_equal(found.path_types, expected.path_types)
    np.testing.assert_array_equal(found.confidence, expected.confidence)


def test_a_hidden_relation_is_in_no_rule():
    triples = [("a", "r", "b"), ("b", "s", "c"), ("a", "s", "d"), ("d", "s", "c")]
    graph = make_graph(triples)
    support = graph.entities.ids(["a", "c"]).reshape(1, 2)
    types = PathTypes.of(graph)
    for hidden, expected in ((HiddenEdges.none(), [("r", "s"), ("s", "s")]), (HiddenEdges.of(0), [("s", "s")])):
        rules = mine_path_rules(graph, support, hidden).path_types.tolist()
        assert [tuple(graph.relations.name(step) for step in types.decode(rule)) for rule in rules] == expected


def test_a_hub_is_walked_to_but_not_through(monkeypatch):
    graph = make_graph([("a", "r", "hub"), ("b", "r", "hub"), ("c", "r", "hub"), ("a", "s", "b")])
    monkeypatch.setattr(paths, "MAX_MIDDLE_DEGREE", 2)
    ends = {graph.entities.name(int(end)) for end in walk(graph, graph.entities.id("a")).ends}
    assert ends == {"hub", "b"}


def test_the_number_of_walks_is_bounded(monkeypatch):
    graph = make_graph([("a", "r", f"m{i}") for i in range(5)] + [(f"m{i}", "s", f"e{i}") for i in range(5)])
    monkeypatch.setattr(paths, "MAX_WALKS", 4)
    ends = {graph.entities.name(int(end)) for end in walk(graph, graph.entities.id("a")).ends}
    assert ends == {"m0", "m1", "m2", "m3", "m4", "e0", "e1"}
