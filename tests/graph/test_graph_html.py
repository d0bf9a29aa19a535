import numpy as np

from graphs import make_graph
from shown_html import HOSTILE, check_shown


def test_a_graph_shows_its_size_its_frequent_relations_and_some_triples():
    triples = [(f"city {number}", "is in", "a country") for number in range(12)]
    triples += [("city 1", f"relation {number}", "city 2") for number in range(9)]
    shown = check_shown(make_graph(triples).to_html())
    assert "13 entities, 10 relations, 21 triples" in shown.text
    assert "is in12" in shown.text
    assert "and 2 more relations" in shown.text
    assert shown.text.count("a country") == 5


def test_a_graph_without_triples_shows_its_size_alone():
    graph = make_graph([("a", "r", "b")]).thinned(0.0, np.random.default_rng(0))
    assert "0 triples" in check_shown(graph.to_html()).text


def test_names_and_labels_of_a_graph_are_text():
    graph = make_graph([(HOSTILE[0], HOSTILE[1], HOSTILE[2])]).with_labels({HOSTILE[0]: HOSTILE[3]})
    shown = check_shown(graph.to_html())
    assert HOSTILE[1] in shown.text
    assert HOSTILE[3] in shown.text
    assert ("title", HOSTILE[0]) in shown.attributes
