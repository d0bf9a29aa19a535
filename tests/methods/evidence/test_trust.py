"""What the examples of a relation say about each other decides which evidence counts for it."""

import numpy as np
import pytest

from graphs import make_graph
from tripleshot.datasets.episodes import Episode
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import QUERY, FeatureTable
from tripleshot.methods.evidence.trust import MAX_LEFT_OUT, TrustMeter

NUM_PEOPLE = 30
TABLE = FeatureTable()
NAMES = [feature.name for feature in TABLE.features]


@pytest.fixture(scope="module")
def graph():
    """People who know one person, live in a town of their own, and in one of three countries."""
    triples = []
    for number in range(NUM_PEOPLE):
        other = (number * 7 + 3) % NUM_PEOPLE
        triples += [(f"p{number}", "knows", f"p{other}"), (f"p{number}", "lives in", f"t{number}")]
        triples += [(f"t{number}", "is in", f"c{number % 3}"), (f"p{number}", "was born in", f"t{other}")]
    return make_graph(triples)


def pairs(graph, named):
    return np.array([graph.entities.ids(list(pair)) for pair in named])


def trust_in(graph, support, feature, native=True, hidden=HiddenEdges.none()):
    meter = TrustMeter(EvidenceIndex(graph, native=native), TABLE)
    return float(meter.of_examples(support, hidden)[NAMES.index(feature)])


@pytest.mark.parametrize("native", [True, False])
def test_a_link_that_every_example_has_can_be_trusted(graph, native):
    home = pairs(graph, [(f"p{number}", f"t{number}") for number in range(5)])
    assert trust_in(graph, home, "linked", native) > 0.8
    assert trust_in(graph, home, "tail of an example", native) <= 0


def test_a_tail_that_examples_repeat_can_be_trusted_and_a_missing_link_cannot(graph):
    country = pairs(graph, [(f"p{number}", "c0") for number in (0, 1, 2, 4, 5)])
    assert trust_in(graph, country, "tail of an example") > 0.6
    assert trust_in(graph, country, "linked") <= 0


def test_one_example_vouches_for_nothing(graph):
    trust = TrustMeter(EvidenceIndex(graph), TABLE).of_examples(pairs(graph, [("p1", "t1")]))
    assert trust.shape == (len(TABLE),)
    assert not trust.any()


def test_trust_can_be_left_out(graph):
    home = pairs(graph, [(f"p{number}", f"t{number}") for number in range(5)])
    assert not TrustMeter(EvidenceIndex(graph), TABLE, is_used=False).of_examples(home).any()


def test_what_is_the_same_for_all_tails_is_never_trusted(graph):
    home = pairs(graph, [(f"p{number}", f"t{number}") for number in range(5)])
    trust = TrustMeter(EvidenceIndex(graph), TABLE).of_examples(home)
    assert not trust[[feature.group == QUERY for feature in TABLE.features]].any()
    assert np.abs(trust).max() <= 1


def test_a_hidden_relation_vouches_for_nothing(graph):
    home = pairs(graph, [(f"p{number}", f"t{number}") for number in range(5)])
    relation = int(graph.relations.find(["lives in"])[0])
    assert trust_in(graph, home, "linked", hidden=HiddenEdges.of(relation)) <= 0


def test_episodes_are_measured_apart_from_each_other(graph):
    meter = TrustMeter(EvidenceIndex(graph), TABLE)
    home = pairs(graph, [(f"p{number}", f"t{number}") for number in range(5)])
    alone = Episode(-1, home[:1], home[:1], home[:1, 1:], 1.0, HiddenEdges.none())
    both = Episode(-1, home, home[:1], home[:1, 1:], 1.0, HiddenEdges.none())
    found = meter.of_episodes([alone, both, alone], np.random.default_rng(0))
    assert not found[[0, 2]].any()
    np.testing.assert_array_equal(found[1], meter.of_examples(home))


def test_many_examples_are_not_all_asked_about(graph, monkeypatch):
    index = EvidenceIndex(graph)
    asked = []
    measure = index.episode_features
    monkeypatch.setattr(
        index,
        "episode_features",
        lambda table, episodes, threads: asked.extend(episodes) or measure(table, episodes, threads),
    )
    everyone = pairs(graph, [(f"p{number}", f"t{number}") for number in range(NUM_PEOPLE)])
    TrustMeter(index, TABLE).of_examples(everyone)
    assert len(asked) == MAX_LEFT_OUT
    assert all(len(episode.support) == NUM_PEOPLE - 1 for episode in asked)
    assert not any(episode.queries[0].tolist() in episode.support.tolist() for episode in asked)


def test_no_true_tail_of_an_example_counts_as_a_wrong_one(graph, monkeypatch):
    index, asked = EvidenceIndex(graph), []
    measure = index.episode_features
    monkeypatch.setattr(
        index,
        "episode_features",
        lambda table, episodes, threads: asked.extend(episodes) or measure(table, episodes, threads),
    )
    TrustMeter(index, TABLE).of_examples(pairs(graph, [("p1", "c0"), ("p1", "c1"), ("p2", "c2")]))
    true = set(graph.entities.ids(["c0", "c1"]).tolist())
    head = graph.entities.id("p1")
    drawn = [set(episode.negatives.ravel().tolist()) for episode in asked if episode.queries[0, 0] == head]
    assert len(drawn) == 2
    assert sum(len(true & wrong) for wrong in drawn) <= 2  # an entity drawn in place of a true one is any entity
