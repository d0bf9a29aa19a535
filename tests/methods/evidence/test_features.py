"""Features of pairs: what they say on small graphs, and that nothing about a query reaches them."""

from dataclasses import replace

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.datasets.dataset import Task
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.pair_evidence import TailsByHead
from tripleshot.methods.evidence.path_rules import mine_path_rules, path_scores

NAMES = [feature.name for feature in FeatureTable().features]


def compute(graph, support, heads, tails, hidden=None, text=False):
    index = EvidenceIndex(graph, text)
    examples = index.read_examples(support, HiddenEdges.of(hidden))
    asked = TailsByHead.of_matrix(heads, np.asarray(tails)[:, None])
    return index.compute_features(FeatureTable(text), examples, asked)


def named(graph, support, pairs, hidden=None):
    support = graph.entities.ids([end for pair in support for end in pair]).reshape(-1, 2)
    heads, tails = (graph.entities.ids(ends) for ends in zip(*pairs, strict=True))
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in compute(graph, support, heads, tails, hidden)]


@pytest.mark.parametrize(("text", "size"), [(False, 50), (True, 54)])
def test_each_column_has_a_name_of_its_own(graph, text, size):
    table = FeatureTable(text)
    rows = compute(graph, np.array([[0, 1]]), np.array([0]), np.array([2]), text=text)
    assert len({feature.name for feature in table.features}) == len(table) == rows.shape[1] == size


def test_a_path_that_the_examples_have_is_seen(graph):
    right, wrong = named(graph, [("ann", "north"), ("bob", "south")], [("cid", "north"), ("cid", "south")])
    assert right["a path that examples share"] == 1
    assert right["a common neighbor, as examples have"] == 1
    assert (right["linked"], wrong["linked"]) == (0, 1)
    assert wrong["linked, as no example is"] == 1
    assert wrong["a path that examples share"] == 0


def test_path_weights_are_those_of_the_rules(graph):
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)
    tails = np.arange(graph.num_entities)
    head = graph.entities.id("cid")
    rows = compute(graph, support, np.full(len(tails), head), tails)[:, NAMES.index("log of path weights")]
    assert np.expm1(rows) == pytest.approx(path_scores(graph, mine_path_rules(graph, support), head, tails), abs=1e-6)


def test_tails_of_examples_count_and_more_so_where_heads_are_similar(graph):
    same, other = named(graph, [("ann", "north"), ("bob", "south")], [("cid", "north"), ("cid", "reds")])
    share = "share of examples with the tail"
    assert (same[share], other[share]) == (0.5, 0)
    assert same["tail of an example with a similar head"] > 0
    assert same["tail of an example whose head has the same neighbors"] > 0


def test_a_hidden_relation_leaves_no_trace(graph):
    support, pairs = [("ann", "reds"), ("bob", "blues")], [("cid", "reds"), ("cid", "blues")]
    bare = graph.without_relations(graph.relations.ids(["plays for"]))
    assert named(graph, support, pairs, hidden=0) == named(bare, support, pairs)


def test_a_feature_is_that_of_the_pair_alone(tiny):
    task = tiny.test[0]
    heads, tails = np.repeat(task.queries(3)[:, 0], 5), np.tile(np.arange(20, 25), len(task.queries(3)))
    together = compute(tiny.graph, task.support(3), heads, tails)
    alone = [
        compute(tiny.graph, task.support(3), heads[row : row + 1], tails[row : row + 1])[0] for row in range(len(heads))
    ]
    assert together == pytest.approx(np.stack(alone), abs=1e-6)


def test_nothing_changes_when_the_query_is_taken_out_of_the_task_files(tiny):
    task = tiny.test[0]
    head, tail = task.queries(3)[0].tolist()
    without = replace(tiny, test=(Task.of(task.name, np.delete(task.pairs, 3, axis=0)), *tiny.test[1:]))
    rows = [
        compute(dataset.graph, dataset.test[0].support(3), np.array([head]), np.array([tail]))
        for dataset in (tiny, without)
    ]
    assert np.array_equal(rows[0], rows[1])


def test_kinds_of_evidence_are_named():
    table = FeatureTable()
    assert table.groups == ("link", "path", "common", "walk", "support", "similarity", "type")
    assert FeatureTable(text=True).groups == (*table.groups, "text")
    chosen = [table.features[column].group for column in np.flatnonzero(table.columns_of("link", "walk"))]
    assert chosen == ["link"] * 11 + ["walk"] * 6
    assert not table.columns_of().any()


@pytest.mark.parametrize("group", ["text", "query"])
def test_what_is_no_evidence_cannot_be_chosen(group):
    with pytest.raises(InputError, match=f"no evidence of the kind '{group}'"):
        FeatureTable().columns_of(group)


def test_an_unknown_kind_of_evidence_suggests_the_nearest():
    with pytest.raises(InputError, match=r"no evidence of the kind 'lnk'.*link"):
        FeatureTable().columns_of("lnk")


def test_similar_names_are_evidence_if_text_is_read():
    graph = make_graph([("old rome", "r", "rome"), ("old york", "r", "york"), ("old kent", "r", "essex")])
    support = graph.entities.ids(["old rome", "rome"]).reshape(-1, 2)
    tails = graph.entities.ids(["york", "essex"])
    heads = np.full(2, graph.entities.id("old york"))
    column = [feature.group for feature in FeatureTable(text=True).features].index("text")
    rows = compute(graph, support, heads, tails, text=True)
    assert rows[0, column] > rows[1, column] == 0
