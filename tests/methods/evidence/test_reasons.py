"""Evidence in words, and where it is in the graph."""

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.reasons import describe_evidence, type_text
from tripleshot.methods.evidence.settings import EvidenceNetSettings

KINDS = ("link", "path", "common", "walk", "support", "similarity", "type", "text")


def described(graph, head, tail, weight=1.0, shown=("ann", "north", "bob", "south")):
    index = EvidenceIndex(graph)
    support = graph.entities.ids(list(shown)).reshape(-1, 2)
    ends = graph.entities.id(head), graph.entities.id(tail)
    reasons = describe_evidence(index, index.read_examples(support), *ends, dict.fromkeys(KINDS, weight))
    return {reason.kind: reason for reason in reasons}


def spelled(graph, reason):
    """The names along each path, with an arrow the way the edge points."""
    return [
        " ".join(
            [
                graph.entities.name(path.entities[0]),
                *(
                    f"{'<' if graph.is_inverse(relation) else '>'} {graph.entities.name(entity)}"
                    for relation, entity in zip(path.relations, path.entities[1:], strict=True)
                ),
            ]
        )
        for path in reason.paths
    ]


def test_the_weightiest_walk_of_three_steps_is_named_and_spelled_out(graph):
    found = described(graph, "ann", "south")["walk"]
    assert found.text == "three steps lead to it, by way of reds and cid"
    assert spelled(graph, found) == ["ann > reds < cid > south"]
    assert described(graph, "ann", "north")["walk"].text == "no path of three steps joins ann and north"


def test_a_walk_that_examples_share_is_told_by_its_relations(graph):
    found = described(graph, "ann", "south", shown=("ann", "south"))["walk"]
    steps = "“plays for”, then “plays for” backwards, then “met”"
    assert found.text == f"examples share the path: {steps}, by way of reds and cid"
    assert spelled(graph, found) == ["ann > reds < cid > south"]


def test_a_link_is_told_as_the_triple_says_it(graph):
    found = described(graph, "south", "cid")["link"]
    assert found.text == "the graph says: cid “met” south"
    assert spelled(graph, found) == ["south < cid"]
    assert described(graph, "ann", "cid")["link"].text == "no edge joins ann and cid"


def test_the_head_itself_is_told_as_such(graph):
    assert described(graph, "ann", "ann")["link"].text == "ann is what is asked about"


def test_paths_common_neighbors_and_examples_are_named_and_spelled_out(graph):
    found = described(graph, "cid", "north")
    assert found["path"].text == "examples share the path: “plays for”, then “in league”"
    assert found["common"].text == "both are next to reds"
    assert spelled(graph, found["path"]) == spelled(graph, found["common"]) == ["cid > reds > north"]
    assert found["support"].text == "the example ann has this answer"
    assert found["support"].examples == (tuple(graph.entities.ids(["ann", "north"]).tolist()),)


def test_every_step_of_a_path_is_an_edge_of_the_graph(graph):
    entities = graph.entities.names.to_pylist()
    found = [
        path
        for head in entities
        for tail in entities
        if head != tail
        for reason in described(graph, head, tail).values()
        for path in reason.paths
    ]
    assert {len(path.relations) for path in found} == {1, 2, 3}
    for path in found:
        for start, relation, end in zip(path.entities, path.relations, path.entities[1:], strict=False):
            relations, ends = graph.adjacency.edges(start)
            assert (relation, end) in zip(relations.tolist(), ends.tolist(), strict=True)


def test_what_is_missing_is_said(graph):
    found = described(graph, "ann", "bob")
    assert found["path"].text == "no path of one or two steps that examples share joins ann and bob"
    assert found["common"].text == "no neighbor is common to ann and bob"
    assert found["support"].text == "no example has this answer"
    assert all(reason.paths == reason.examples == () for reason in found.values())


@pytest.mark.parametrize(("weight", "word"), [(0.5, "right"), (-0.5, "wrong")])
def test_what_only_compares_says_whether_it_speaks_for_the_answer(graph, weight, word):
    found = described(graph, "ann", "south", weight)
    assert found["similarity"].text == f"south looks {word} beside the answers of the examples"
    assert found["text"].text == f"the name of south looks {word} beside those of the examples"


def test_a_kind_without_a_weight_is_left_out(graph):
    index = EvidenceIndex(graph)
    support = graph.entities.ids(["ann", "north"]).reshape(-1, 2)
    (reason,) = describe_evidence(index, index.read_examples(support), 0, 1, {"link": -0.25})
    assert (reason.kind, reason.weight) == ("link", -0.25)


def test_the_type_of_an_answer_is_told_beside_those_of_the_examples():
    triples = [("ann", "plays for", "reds"), ("bob", "plays for", "blues"), ("ann", "lives in", "york")]
    graph = make_graph(triples, {"reds": "team", "blues": "team", "york": "city"})
    index, ids = EvidenceIndex(graph), graph.entities.ids(["ann", "reds", "blues", "york"])
    ann, reds, blues, york = ids.tolist()
    support = np.array([[ann, reds]])
    assert type_text(index, support, blues) == "blues is of the type “team”, like the answers of 1 of 1 examples"
    assert type_text(index, support, york) == "york has no type in common with the answers of the examples"


@pytest.mark.parametrize(("types", "is_told"), [(None, False), ({"reds": "team"}, True)])
def test_types_are_a_reason_where_the_graph_has_any(types, is_told):
    graph = make_graph([("ann", "plays for", "reds"), ("bob", "plays for", "blues")], types)
    method = EvidenceNet(EvidenceNetSettings())
    method.prepare(FewShotDataset("teams", graph, (), (), ()), 1)
    support = np.array([graph.entities.ids(["ann", "reds"])])
    head, tail = graph.entities.ids(["bob", "blues"]).tolist()
    reasons = method.explain(support, head, tail)
    assert ("type" in {reason.kind for reason in reasons}) == is_told
    score = method.score(support, head, np.array([tail]))
    assert sum(reason.weight for reason in reasons) == pytest.approx(float(score[0]), abs=1e-5)
