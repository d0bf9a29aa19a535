"""Features of pairs: what they say on small graphs, and that nothing about a query reaches them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.features import EvidenceFeatures
from tripleshot.methods.evidence.kinds import CIRCUMSTANCES, GROUPS, TEXT_GROUPS, EvidenceKinds
from tripleshot.methods.evidence.path_rules import mine_path_rules, path_scores

NAMES = [name for names in GROUPS.values() for name in names] + list(CIRCUMSTANCES)


@pytest.fixture
def graph():
    return make_graph(
        [
            ("ann", "plays for", "reds"),
            ("bob", "plays for", "blues"),
            ("cid", "plays for", "reds"),
            ("reds", "in league", "north"),
            ("blues", "in league", "south"),
            ("cid", "met", "south"),
        ]
    )


def features(graph, support, pairs, hidden=None):
    found = EvidenceFeatures(graph)
    heads, tails = (graph.entities.ids(ends) for ends in zip(*pairs, strict=True))
    examples = found.examples(
        graph.entities.ids([end for pair in support for end in pair]).reshape(-1, 2), HiddenEdges.of(hidden)
    )
    rows = found.of(examples, heads, tails)
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in rows]


@pytest.mark.parametrize("text", [False, True])
def test_there_is_a_name_for_each(graph, text):
    found = EvidenceFeatures(graph, text)
    names = [name for names in found.kinds.groups.values() for name in names] + list(CIRCUMSTANCES)
    examples = found.examples(np.array([[0, 1]]))
    assert len(set(names)) == found.kinds.size == found.of(examples, np.array([0]), np.array([2])).shape[1]


def test_a_path_that_the_examples_have_is_seen(graph):
    right, wrong = features(graph, [("ann", "north"), ("bob", "south")], [("cid", "north"), ("cid", "south")])
    assert right["a path that examples have"] == 1
    assert right["a common neighbor, as examples have"] == 1
    assert (right["linked"], wrong["linked"]) == (0, 1)
    assert wrong["linked, as no example is"] == 1
    assert wrong["a path that examples have"] == 0


def test_path_weights_are_those_of_the_rules(graph):
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)
    tails = np.arange(graph.num_entities)
    head = graph.entities.id("cid")
    found = EvidenceFeatures(graph)
    column = NAMES.index("log of path weights")
    rows = found.of(found.examples(support), np.full(len(tails), head), tails)[:, column]
    assert np.expm1(rows) == pytest.approx(path_scores(graph, mine_path_rules(graph, support), head, tails), abs=1e-6)


def test_tails_of_examples_count_and_more_so_where_heads_are_alike(graph):
    same, other = features(graph, [("ann", "north"), ("bob", "south")], [("cid", "north"), ("cid", "reds")])
    assert (same["share of examples"], other["share of examples"]) == (0.5, 0)
    assert same["in an example whose head is alike"] > 0
    assert same["in an example whose head has the same neighbors"] > 0


def test_a_hidden_relation_leaves_no_trace(graph):
    support, pairs = [("ann", "reds"), ("bob", "blues")], [("cid", "reds"), ("cid", "blues")]
    bare = graph.without_relations(graph.relations.ids(["plays for"]))
    assert features(graph, support, pairs, hidden=0) == features(bare, support, pairs)


def test_a_feature_is_that_of_the_pair_alone(tiny):
    found = EvidenceFeatures(tiny.graph)
    task = tiny.test[0]
    examples = found.examples(task.support(3))
    heads, tails = np.repeat(task.queries(3)[:, 0], 5), np.tile(np.arange(20, 25), len(task.queries(3)))
    together = found.of(examples, heads, tails)
    alone = [found.of(examples, heads[row : row + 1], tails[row : row + 1])[0] for row in range(len(heads))]
    assert together == pytest.approx(np.stack(alone), abs=1e-6)


def test_nothing_changes_when_the_query_is_taken_out_of_the_task_files(tiny):
    task = tiny.test[0]
    head, tail = task.queries(3)[0].tolist()
    without = replace(tiny, test=(Task.of(task.name, np.delete(task.pairs, 3, axis=0)), *tiny.test[1:]))
    rows = []
    for dataset in (tiny, without):
        found = EvidenceFeatures(dataset.graph)
        rows.append(found.of(found.examples(dataset.test[0].support(3)), np.array([head]), np.array([tail])))
    assert np.array_equal(rows[0], rows[1])


edges = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5))


@given(st.lists(edges, min_size=1, max_size=14), st.sampled_from([None, 0, 1]))
def test_walks_of_three_steps_are_those_of_the_triples(triples, hidden):
    named = [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in triples]
    graph = make_graph([*named, *((f"e{entity}", "r9", "e9") for entity in range(6))])
    ids = {relation: graph.relations.id(f"r{relation}") for _, relation, _ in triples}
    hidden = ids.get(hidden)
    size = graph.num_entities
    next_to, degrees = np.zeros((size, size), dtype=bool), np.zeros(size)
    for head, relation, tail in zip(graph.head_ids, graph.relation_ids, graph.tail_ids, strict=True):
        if relation != hidden:
            next_to[head, tail] = next_to[tail, head] = True
            degrees[head] += 1
            degrees[tail] += 1
    found = EvidenceFeatures(graph)
    examples = found.examples(np.array([[0, 1]]), HiddenEdges.of(hidden))
    heads, tails = (grid.ravel() for grid in np.meshgrid(range(size), range(size), indexing="ij"))
    column = NAMES.index("log of walks of three steps")
    walks = np.expm1(found.of(examples, heads, tails)[:, column]).reshape(size, size) / 100
    for head in range(size):
        for tail in range(size):
            ways = [
                1 / degrees[first] / degrees[last]
                for first in np.flatnonzero(next_to[head])
                for last in np.flatnonzero(next_to[tail])
                if next_to[first, last] and first not in (head, tail) and last != head
            ]
            assert walks[head, tail] == pytest.approx(sum(ways), abs=1e-5)


def test_kinds_of_evidence_are_named():
    found = EvidenceKinds()
    for asked in ("link, walk", "link walk"):
        chosen = [NAMES[place] for place in np.flatnonzero(found.columns_of(asked))]
        assert chosen == [*GROUPS["link"], *GROUPS["walk"]]
    assert not found.columns_of("").any()


def test_an_unknown_kind_of_evidence_suggests_the_nearest():
    with pytest.raises(InputError, match=r"no evidence of the kind 'lnk'.*link"):
        EvidenceKinds().columns_of("lnk")
    with pytest.raises(InputError, match=r"no evidence of the kind 'text'"):
        EvidenceKinds().columns_of("text")


def test_names_that_are_alike_are_evidence_if_text_is_read():
    graph = make_graph([("old rome", "r", "rome"), ("old york", "r", "york"), ("old kent", "r", "essex")])
    found = EvidenceFeatures(graph, text=True)
    support = graph.entities.ids(["old rome", "rome"]).reshape(-1, 2)
    tails = graph.entities.ids(["york", "essex"])
    heads = np.full(2, graph.entities.id("old york"))
    first = sum(len(names) for names in GROUPS.values())
    rows = found.of(found.examples(support), heads, tails)[:, first : first + len(TEXT_GROUPS["text"])]
    assert rows[0, 0] > rows[1, 0] == 0


def test_the_weightiest_walk_of_three_steps_is_named(graph):
    method = EvidenceNet()
    dataset = FewShotDataset("small", graph, (), (), ())
    method.prepare(dataset)
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)

    def walks(head, tail):
        reasons = method.explain(support, graph.entities.id(head), graph.entities.id(tail))
        return [reason.text for reason in reasons if reason.kind == "walk"]

    assert walks("ann", "south") == ["three steps lead to it, by way of reds and cid"]
    assert walks("ann", "north") == ["no three steps lead to it"]
