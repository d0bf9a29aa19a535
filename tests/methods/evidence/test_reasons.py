"""Evidence in words."""

from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.reasons import describe_evidence


def sentences(graph, head, tail):
    index = EvidenceIndex(graph)
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)
    return describe_evidence(index, index.read_examples(support), graph.entities.id(head), graph.entities.id(tail))


def test_the_weightiest_walk_of_three_steps_is_named(graph):
    assert sentences(graph, "ann", "south")["walk"] == ["three steps lead to it, by way of reds and cid"]
    assert sentences(graph, "ann", "north")["walk"] == ["no three steps lead to it"]


def test_a_link_is_told_as_the_triple_says_it(graph):
    assert sentences(graph, "south", "cid")["link"] == ["the graph says: cid “met” south"]
    assert sentences(graph, "ann", "cid")["link"] == ["no edge joins ann and cid"]


def test_paths_common_neighbors_and_examples_are_named(graph):
    found = sentences(graph, "cid", "north")
    assert found["path"] == ["examples share the path: “plays for”, then “in league”"]
    assert found["common"] == ["both are next to reds"]
    assert found["support"] == ["the example ann has this answer"]


def test_what_is_missing_is_said(graph):
    found = sentences(graph, "ann", "bob")
    assert found["path"] == ["no path that examples share"]
    assert found["common"] == ["no neighbor in common"]
    assert found["support"] == ["no example has it"]
