"""Features of pairs: what they say on small graphs, and that nothing about a query reaches them."""

from dataclasses import replace

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.dataset import Task
from tripleshot.methods.evidence_features import CIRCUMSTANCES, GROUPS, NUM_FEATURES, EvidenceFeatures
from tripleshot.methods.paths import mine_path_rules, path_scores
from tripleshot.pair_index import NOTHING

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


def features(graph, support, pairs, hidden=NOTHING):
    found = EvidenceFeatures(graph)
    heads, tails = (graph.entities.ids(ends) for ends in zip(*pairs, strict=True))
    examples = found.examples(graph.entities.ids([end for pair in support for end in pair]).reshape(-1, 2), hidden)
    rows = found.of(examples, heads, tails)
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in rows]


def test_there_is_a_name_for_each(graph):
    assert len(set(NAMES)) == NUM_FEATURES


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
