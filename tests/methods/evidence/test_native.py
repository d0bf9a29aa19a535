"""The kernel agrees with the plain code on any graph: loops, parallel edges, isolated entities, hidden relations."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of_ids
from tripleshot.datasets.episodes import Episode
from tripleshot.errors import InputError
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.graph.types import EntityTypes
from tripleshot.methods.evidence import native, path_rules, plain_evidence, walk_rules, walks
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.pair_evidence import TailsByHead

NUM_ENTITIES, NUM_RELATIONS = 9, 3

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler")

entities = st.integers(0, NUM_ENTITIES - 1)
triples = st.lists(st.tuples(entities, st.integers(0, NUM_RELATIONS - 1), entities), max_size=60, unique=True)
examples_of = st.lists(st.tuples(entities, entities), min_size=1, max_size=5)
hidden_of = st.sampled_from([None, 0, 1])
types_of = st.lists(st.tuples(entities, st.sampled_from("abcd")), max_size=12)


def indexes(graph):
    """Return the same graph, measured by the kernel and plainly."""
    found = EvidenceIndex(graph), EvidenceIndex(graph, native=False)
    assert found[0].kernel is not None
    assert found[1].kernel is None
    return found


def typed(graph, pairs):
    """Return the graph with types, given as pairs of entity and type; without any it has none."""
    if not pairs:
        return graph
    owners, names = zip(*pairs, strict=True)
    return graph.with_types(EntityTypes.from_pairs(np.array(owners), names, graph.num_entities))


def everything(num_entities=NUM_ENTITIES):
    """Ask about all pairs, each head with some tails twice."""
    tails = np.concatenate([np.arange(num_entities), [0, num_entities - 1, 0]])
    return TailsByHead.of_matrix(np.arange(num_entities), np.tile(tails, (num_entities, 1)))


def assert_equal(found, expected, names=None):
    for name in names or [field.name for field in fields(found)]:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9, err_msg=name)


@given(triples, types_of, examples_of, hidden_of)
def test_it_measures_what_the_plain_code_measures(edges, types, pairs, relation):
    fast, plain = indexes(typed(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS), types))
    support, hidden = np.array(pairs), HiddenEdges.of(relation)
    examples, expected = fast.read_examples(support, hidden), plain.read_examples(support, hidden)
    np.testing.assert_array_equal(examples.rules.path_types, expected.rules.path_types)
    np.testing.assert_array_equal(examples.rules.confidence, expected.rules.confidence)
    np.testing.assert_array_equal(examples.walk_rules.path_types, expected.walk_rules.path_types)
    np.testing.assert_array_equal(examples.walk_rules.masses, expected.walk_rules.masses)
    assert_equal(examples, expected, ["link_shares", "head_profiles", "tail_profiles"])
    assert_equal(examples, expected, ["linked_share", "common_share", "distinct_tails", "distinct_heads"])
    assert_equal(examples, expected, ["type_rarity", "typed_share", "loop_share"])
    found, right = fast.measure(examples, everything()), plain.measure(expected, everything())
    assert_equal(found.joins, right.joins)
    assert_equal(found.head_likeness, right.head_likeness)
    assert_equal(found.tail_likeness, right.tail_likeness)


@given(triples, types_of, examples_of, hidden_of)
def test_features_are_those_of_the_table(edges, types, pairs, relation):
    fast, plain = indexes(typed(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS), types))
    table, support, hidden = FeatureTable(), np.array(pairs), HiddenEdges.of(relation)
    found, expected = (
        index.compute_features(table, index.read_examples(support, hidden), everything()) for index in (fast, plain)
    )
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def make_episode(support, relation, heads, tails):
    """Ask about the same number of tails of each head, of which the first is the true one."""
    pairs = np.stack([heads, tails[:, 0]], axis=1)
    return Episode(-1, np.array(support), pairs, tails[:, 1:], 1.0, HiddenEdges.of(relation))


shown_of = st.lists(st.tuples(examples_of, hidden_of), min_size=1, max_size=4)


@given(triples, types_of, shown_of, st.integers(0, 2**32 - 1))
def test_features_of_episodes_are_those_of_the_table(edges, types, shown, seed):
    rng = np.random.default_rng(seed)
    fast, plain = indexes(typed(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS), types))
    drawn = [(rng.integers(0, NUM_ENTITIES, 3), rng.integers(0, NUM_ENTITIES, (3, 6))) for _ in shown]
    episodes = [
        make_episode(support, relation, heads, tails)
        for (support, relation), (heads, tails) in zip(shown, drawn, strict=True)
    ]
    table = FeatureTable()
    expected = plain.episode_features(table, episodes)
    found = fast.episode_features(table, episodes)
    assert found.shape == (len(shown), 3, 6, len(table))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.array_equal(fast.episode_features(table, episodes, num_threads=3), found)


def test_features_of_episodes_with_many_examples_and_paths_are_those_of_the_table():
    fast = random_index(100, 8000)
    plain, rng = EvidenceIndex(fast.graph, native=False), np.random.default_rng(1)
    sizes = (1, 10, 150)
    drawn = [(rng.integers(0, 100, (size, 2)), 2, np.array([3, 4, 3]), rng.integers(0, 100, (3, 40))) for size in sizes]
    episodes = [make_episode(*parts) for parts in drawn]
    found, expected = (index.episode_features(FeatureTable(), episodes) for index in (fast, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@given(triples, examples_of, st.sampled_from([1, 3, 6]), st.sampled_from([4, 12, 1000]))
def test_hubs_and_long_walks_are_left_out_alike(edges, pairs, max_degree, max_walks):
    with pytest.MonkeyPatch.context() as patch:
        for module in (native, walks, path_rules, plain_evidence, walk_rules):
            patch.setattr(module, "MAX_MIDDLE_DEGREE", max_degree)
        for module in (native, walks):
            patch.setattr(module, "MAX_WALKS", max_walks)
        fast, plain = indexes(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS))
        support = np.array(pairs)
        found, right = (index.measure(index.read_examples(support), everything()) for index in (fast, plain))
        assert_equal(found.joins, right.joins)


LIMITS = st.fixed_dictionaries(
    {
        "MAX_RULES": st.sampled_from([1, 3, 64]),
        "MAX_ENDS": st.sampled_from([1, 6, 20]),
        "MAX_VISITS": st.sampled_from([2, 7, 30]),
        "MAX_MINED": st.sampled_from([1, 5, 40]),
    }
)


@given(triples, examples_of, hidden_of, LIMITS)
def test_rules_of_three_steps_are_limited_alike(edges, pairs, relation, limits):
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(native, name, limit)
            patch.setattr(walk_rules, name, limit)
        support, hidden = np.array(pairs), HiddenEdges.of(relation)
        read, asked = [], everything()
        for index in indexes(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS)):
            examples = index.read_examples(support, hidden)
            read.append((examples.walk_rules, index.measure(examples, asked).joins))
        (found, joins), (expected, right) = read
        np.testing.assert_array_equal(found.path_types, expected.path_types)
        np.testing.assert_array_equal(found.masses, expected.masses)
        assert_equal(joins, right)


@given(triples, examples_of, hidden_of)
def test_what_rules_say_of_a_tail_is_a_probability(edges, pairs, relation):
    index, _ = indexes(graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS))
    asked = TailsByHead.of_matrix(np.arange(NUM_ENTITIES), np.tile(np.arange(NUM_ENTITIES), (NUM_ENTITIES, 1)))
    joins = index.measure_joins(index.read_examples(np.array(pairs), HiddenEdges.of(relation)), asked)
    for shares in (joins.path_probability, joins.walk_probability):
        assert (shares.reshape(NUM_ENTITIES, -1).sum(axis=1) < 1 + 1e-9).all()
    for shares in (joins.path_returning, joins.walk_returning):
        assert (shares.reshape(NUM_ENTITIES, -1).sum(axis=0) < 1 + 1e-9).all()


@given(triples, examples_of, hidden_of)
def test_a_confidence_is_below_one_whatever_the_graph(edges, pairs, relation):
    graph, hidden = graph_of_ids(edges, NUM_ENTITIES, NUM_RELATIONS), HiddenEdges.of(relation)
    for index in indexes(graph):
        rules = index.read_examples(np.array(pairs), hidden).rules
        assert (rules.confidence < 1).all()
        assert np.isfinite(rules.weights).all()


def random_index(num_entities=300, num_triples=3000):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, num_triples) for size in (num_entities, 5, num_entities)]
    return EvidenceIndex(graph_of_ids(np.unique(np.stack(columns, axis=1), axis=0).tolist(), num_entities, 5))


def test_a_tail_has_the_same_evidence_to_the_bit_among_few_and_many_others():
    index = random_index()
    examples = index.read_examples(np.array([[0, 1], [2, 3]]))
    for head in range(0, 300, 20):
        together = index.measure_joins(examples, TailsByHead.of(head, np.arange(300))).block
        for tail in range(0, 300, 50):
            alone = index.measure_joins(examples, TailsByHead.of(head, np.array([tail]))).block
            assert np.array_equal(alone[:, 0], together[:, tail])


def test_the_number_of_threads_changes_nothing():
    index = random_index()
    examples = index.read_examples(np.array([[0, 1], [2, 3]]), HiddenEdges.of(2))
    asked = TailsByHead.of_matrix(np.arange(300), np.tile(np.arange(0, 300, 7), (300, 1)))
    alone = index.measure_joins(examples, asked).block
    assert np.array_equal(index.measure_joins(examples, asked, num_threads=3).block, alone)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: index.measure_joins(examples, asked).block, range(8)):
            assert np.array_equal(found, alone)


def test_more_examples_than_one_pass_compares_with_are_compared():
    fast = random_index()
    plain = EvidenceIndex(fast.graph, native=False)
    support = np.random.default_rng(1).integers(0, 300, (150, 2))
    found, expected = (index.tail_likeness(index.read_examples(support), np.arange(300)) for index in (fast, plain))
    assert_equal(found, expected)


def test_paths_between_examples_that_do_not_fit_at_first_are_made_room_for(monkeypatch):
    fast = random_index()
    support = np.array([[0, 1], [2, 3]])
    expected = fast.read_examples(support).rules
    monkeypatch.setattr(native, "FIRST_CAPACITY", 1)
    found = fast.read_examples(support).rules
    np.testing.assert_array_equal(found.path_types, expected.path_types)


@pytest.mark.parametrize("wrong", [-1, 300, 10**6, 2**62, -(2**63)])
def test_an_entity_that_the_graph_does_not_have_is_an_error_and_nothing_is_read_there(wrong):
    index, unknown = random_index(), np.array([0, wrong, 1])
    assert index.kernel is not None
    kernel = index.kernel
    examples, seen = index.read_examples(np.array([[0, 1], [2, 3]])), HiddenEdges.none()
    message = f"unknown entity #{wrong}: ids go from 0 to 299"
    for support in ([[0, wrong]], [[wrong, 0]], [[0, 1], [2, wrong]]):
        with pytest.raises(InputError, match=message):
            index.read_examples(np.array(support))
        with pytest.raises(InputError, match=message):
            kernel.mine_walks(np.array(support), seen)
    for asked in (TailsByHead.of(0, unknown), TailsByHead.of(wrong, np.array([0]))):
        with pytest.raises(InputError, match=message):
            index.measure_joins(examples, asked)
    for measure in (
        lambda: index.head_likeness(examples, unknown),
        lambda: index.tail_likeness(examples, unknown),
        lambda: kernel.measure_likeness(seen, np.array([0]), unknown, examples.tail_profiles),
        lambda: kernel.read_profiles(unknown, seen),
        lambda: kernel.count_reached(np.array([0]), unknown),
    ):
        with pytest.raises(InputError, match=message):
            measure()
    for shown in ([[wrong], [0], [1]], [[0], [wrong], [1]], [[0], [0], [wrong]]):
        (end,), (head,), (tail,) = shown
        episode = Episode(-1, np.array([[0, end]]), np.array([[head, 1]]), np.array([[tail, 2]]), 1.0, seen)
        with pytest.raises(InputError, match=message):
            index.episode_features(FeatureTable(), [episode])


def test_the_environment_can_refuse_it(monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_NATIVE", "0")
    assert EvidenceIndex(graph_of_ids([(0, 0, 1)], 2, 1)).kernel is None


def test_a_graph_without_relations_is_measured_plainly():
    index = EvidenceIndex(graph_of_ids([], 2, 0))
    assert index.kernel is None
    features = index.compute_features(FeatureTable(), index.read_examples(np.array([[0, 1]])), everything(2))
    assert np.isfinite(features).all()
