"""What is measured about pairs, on small graphs."""

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.pair_evidence import Joins, TailsByHead


def evidence(graph, support, pairs, hidden=None):
    index = EvidenceIndex(graph)
    support, pairs = (graph.entities.ids(np.ravel(names)).reshape(-1, 2) for names in (support, pairs))
    asked = TailsByHead.of_matrix(pairs[:, 0], pairs[:, 1:])
    return index.measure(index.read_examples(support, HiddenEdges.of(hidden)), asked)


def test_examples_are_counted(graph):
    support = [("ann", "north"), ("bob", "south"), ("cid", "south"), ("cid", "north")]
    examples = evidence(graph, support, [("ann", "reds")]).examples
    assert (examples.linked_share, examples.common_share) == (0.25, 0.75)
    assert (examples.distinct_heads, examples.distinct_tails) == (0.75, 0.5)
    met = graph.relations.id("met")
    assert np.flatnonzero(examples.link_shares).tolist() == [met]
    assert examples.link_shares[met] == 0.25


def test_links_are_weighed_by_their_relation(graph):
    found = evidence(graph, [("ann", "reds")], [("cid", "reds"), ("reds", "cid"), ("cid", "north")]).joins
    assert found.num_links.tolist() == [1, 1, 0]
    assert found.link_share.tolist() == [1, 0, 0]
    assert found.link_exclusiveness.tolist() == [1, 0.5, 0]
    assert found.turned_exclusiveness.tolist() == [0.5, 1, 0]
    assert found.link_rarity == pytest.approx([1 / np.log(5), 1 / np.log(5), 0])
    assert found.link_overlap == pytest.approx([1 / np.log(5), 0, 0])
    assert not found.is_head.any()


def test_all_links_that_examples_have_count_the_rare_ones_more():
    joined = {("a", "b"): ("often", "rarely"), ("c", "d"): ("often", "rarely"), ("e", "f"): ("often", "never")}
    graph = make_graph([(head, relation, tail) for (head, tail), both in joined.items() for relation in both])
    found = evidence(graph, [("a", "b"), ("e", "f")], [("c", "d"), ("e", "f")]).joins
    rarity = [1 / np.log(2 + count) for count in (3, 2, 1)]
    assert found.link_overlap == pytest.approx([rarity[0] + rarity[1] / 2, rarity[0] + rarity[2] / 2])


def test_paths_lead_there_and_back_with_probabilities_of_their_own():
    graph = make_graph([("a", "in", "x"), ("x", "of", "p"), ("b", "in", "y"), ("y", "of", "p"), ("b", "in", "z")])
    found = evidence(graph, [("a", "p")], [("a", "p"), ("b", "p"), ("b", "y")]).joins
    assert found.path_probability == pytest.approx([1, 1 / 2, 0])
    assert found.path_returning == pytest.approx([1 / 2, 1 / 2, 0])


def test_the_head_itself_is_told_apart_and_whether_examples_are_so():
    graph = make_graph([("a", "knows", "b"), ("b", "knows", "c")])
    found = evidence(graph, [("a", "a"), ("a", "b")], [("c", "c"), ("c", "b")])
    assert found.joins.is_head.tolist() == [1, 0]
    assert found.examples.loop_share == 0.5
    table = FeatureTable()
    names = [feature.name for feature in table.features]
    rows = EvidenceIndex(graph).compute_features(table, found.examples, found.asked)
    assert rows[:, names.index("the head itself")].tolist() == [1, 0]
    assert rows[:, names.index("the head itself, as in examples")].tolist() == [0.5, 0]


def test_common_neighbors_weigh_less_the_more_edges_they_have(graph):
    found = evidence(graph, [("ann", "reds")], [("ann", "cid"), ("bob", "south"), ("ann", "bob")]).joins
    assert found.common_weight == pytest.approx([1 / 3, 1 / 2, 0])


def test_a_hidden_relation_has_no_edges(graph):
    found = evidence(graph, [("ann", "reds")], [("cid", "south")], hidden=graph.relations.id("met"))
    degrees = found.head_likeness.degrees.tolist(), found.tail_likeness.degrees.tolist()
    assert (found.joins.num_links.tolist(), *degrees) == ([0], [1], [1])


def test_features_find_every_quantity_by_name(graph):
    found = evidence(graph, [("ann", "reds")], [("cid", "reds")])
    quantities, factors = found.quantities(), found.query_quantities()
    assert all(feature.quantity in quantities and feature.factor in factors for feature in FeatureTable().features)


def test_nothing_joins_pairs_without_evidence():
    nothing = Joins.nothing(3)
    assert nothing.block.shape == (14, 3)
    assert not nothing.block.any()
