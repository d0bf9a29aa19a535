"""What is measured about pairs, on small graphs."""

import numpy as np
import pytest

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
    assert found.link_rarity == pytest.approx([1 / np.log(5), 1 / np.log(5), 0])


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
    assert nothing.block.shape == (9, 3)
    assert not nothing.block.any()
