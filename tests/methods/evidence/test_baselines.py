from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods import create_method
from tripleshot.methods.evidence.baselines import degree_share, is_linked, support_share
from tripleshot.methods.protocol import ExplainingMethod
from tripleshot.training.fit import fit


def fitted(name, graph) -> ExplainingMethod:
    method = create_method(name)
    fit(method, FewShotDataset("d", graph, (), (), ()), 2)
    assert isinstance(method, ExplainingMethod)
    return method


def pairs(graph, *names):
    return graph.entities.ids(names).reshape(-1, 2)


def ranking(method, graph, support, head, tails):
    scores = method.score(support, graph.entities.id(head), graph.entities.ids(tails))
    return [tails[place] for place in np.argsort(-scores, kind="stable")]


def test_degree_share_is_the_number_of_edges_over_the_largest_and_one(graph):
    assert degree_share(graph, graph.entities.ids(["reds", "ann"])).tolist() == [3 / 4, 1 / 4]


def test_support_share_counts_examples(graph):
    support = pairs(graph, "ann", "north", "bob", "north", "cid", "south")
    shares = support_share(support, graph.entities.ids(["south", "north", "ann"]))
    assert shares.tolist() == pytest.approx([1 / 3, 2 / 3, 0])


def test_a_link_counts_in_either_direction(graph):
    assert is_linked(graph, graph.entities.id("reds"), graph.entities.ids(["ann", "north", "bob"])).tolist() == [
        True,
        True,
        False,
    ]


def test_linked_puts_links_before_examples_and_examples_before_degree(graph):
    support = pairs(graph, "ann", "north", "bob", "north")
    order = ranking(fitted("linked", graph), graph, support, "cid", ["reds", "ann", "north", "south"])
    assert order == ["reds", "south", "north", "ann"]


def test_evidence_follows_the_path_that_the_examples_share(graph):
    support = pairs(graph, "ann", "north")
    method = fitted("evidence", graph)
    assert ranking(method, graph, support, "bob", ["reds", "ann", "south"])[0] == "south"
    texts = [reason.text for reason in method.explain(support, graph.entities.id("bob"), graph.entities.id("south"))]
    assert texts[0] == "examples share the path: “plays for”, then “in league”"


def test_the_explanation_says_which_edge_links_the_two(graph):
    support = pairs(graph, "ann", "north")
    reasons = fitted("linked", graph).explain(support, graph.entities.id("south"), graph.entities.id("cid"))
    assert reasons[0].text == "the graph says: cid “met” south"
    assert reasons[0].kind == "link"


def test_an_entity_without_edges_gets_scores_too(graph):
    names = [*graph.entities.names.to_pylist(), "lonely"]
    wider = replace(graph, entities=Vocabulary.of("entity", names))
    for name in ("degree", "linked", "evidence"):
        scores = fitted(name, wider).score(pairs(wider, "lonely", "north"), len(names) - 1, np.arange(len(names)))
        assert np.isfinite(scores).all()
