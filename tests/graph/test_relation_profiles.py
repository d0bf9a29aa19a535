import numpy as np
import pytest

from graphs import make_graph
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.relation_profiles import RelationProfiles


@pytest.fixture
def graph():
    return make_graph(
        [
            ("ann", "plays for", "reds"),
            ("bob", "plays for", "reds"),
            ("ann", "lives in", "york"),
            ("reds", "of", "york"),
        ]
    )


def test_a_profile_weighs_rare_relations_more_and_has_length_one(graph):
    profile = RelationProfiles(graph).of(graph.entities.ids(["ann", "reds"]))
    assert profile.offsets.tolist() == [0, 2, 4]
    lengths = [np.linalg.norm(profile.weights[:2]), np.linalg.norm(profile.weights[2:])]
    assert lengths == pytest.approx([1, 1])
    by_relation = dict(zip(profile.relations[:2].tolist(), profile.weights[:2], strict=True))
    assert by_relation[1] > by_relation[0]  # one lives somewhere, two play for a team


def test_a_hidden_relation_leaves_no_trace(graph):
    profiles = RelationProfiles(graph)
    reds = graph.entities.ids(["reds"])
    assert profiles.degrees(reds).tolist() == [3]
    assert profiles.degrees(reds, hidden=HiddenEdges.of(0)).tolist() == [1]
    assert profiles.of(reds, hidden=HiddenEdges.of(0)).relations.tolist() == [2]
    bob = profiles.of(graph.entities.ids(["bob"]), hidden=HiddenEdges.of(0))
    assert bob.similarity(np.ones((2, 6))).tolist() == [[0, 0]]


def test_a_relation_may_be_hidden_from_one_entity_alone(graph):
    profiles, both = RelationProfiles(graph), graph.entities.ids(["reds", "reds"])
    hidden = HiddenEdges(np.array([-1, 0]))
    assert profiles.degrees(both, hidden).tolist() == [3, 1]
    assert np.diff(profiles.of(both, hidden).offsets).tolist() == [2, 1]


def test_similarity_is_the_cosine_of_dense_profiles(graph):
    profile = RelationProfiles(graph).of(np.arange(graph.num_entities))
    dense = profile.dense(graph.num_relations)
    assert profile.similarity(dense) == pytest.approx(dense @ dense.T)


def test_what_is_drawn_alike_stands_at_the_same_end_of_a_relation(graph):
    profiles, rng = RelationProfiles(graph), np.random.default_rng(0)
    names = graph.entities.names.to_pylist()
    drawn = profiles.draw_alike(np.repeat(graph.entities.ids(["bob", "york"]), 200), rng)
    assert {names[entity] for entity in drawn[:200]} == {"ann", "bob"}  # who plays for a team
    assert {names[entity] for entity in drawn[200:]} == {"york"}  # where somebody lives, or what a team is of


def test_nothing_is_alike_by_a_hidden_relation_alone(graph):
    drawn = RelationProfiles(graph).draw_alike(np.repeat(graph.entities.ids(["bob"]), 200), np.random.default_rng(0), 0)
    assert len(set(drawn.tolist())) == graph.num_entities


def test_nothing_is_drawn_for_nobody(graph):
    assert len(RelationProfiles(graph).draw_alike(np.empty(0, np.int64), np.random.default_rng(0))) == 0
