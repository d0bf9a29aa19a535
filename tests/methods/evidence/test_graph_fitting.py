"""Weights fitted to a graph serve its relations better than before, and depend on nothing but the graph."""

from dataclasses import replace

import numpy as np
import pytest

import tripleshot as ts
from indexes import everything_on_disk
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.own_relations import MIN_RELATIONS, sample_relations
from tripleshot.graph import index_files
from tripleshot.methods.evidence import evidence_net, graph_fitting
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.features import FeatureTable
from tripleshot.methods.evidence.graph_fitting import (
    MAX_STEPS_OF_HALVES,
    SHARE_WHERE_DENSE,
    SHARE_WHERE_MANY,
    count_steps,
    fit_to_own_relations,
    share_from_nothing,
)
from tripleshot.methods.evidence.network_weights import NetworkWeights
from tripleshot.methods.evidence.universal import universal_settings, universal_weights
from tripleshot.methods.trainable import TrainedWeights


def kin():
    """Return a graph of many relations between the same few people, each of which follows from any two others."""
    steps = [1, 2, 3, 5, 8, 13, 21, 34]
    triples = [(f"p{n}", f"relation {step}", f"p{(n + step) % 40}") for step in steps for n in range(40)]
    return FewShotDataset("kin", ts.read_graph(triples), (), (), ())


def untrained(dataset, scale=1.0):
    """Return the universal network on a graph, what it adds up at the end multiplied by a number."""
    network, weights = EvidenceNet(universal_settings()), dict(universal_weights().arrays)
    weights["out.weight"] = weights["out.weight"] * np.float32(scale)
    network.restore(dataset, TrainedWeights.of(weights, None, "the test"))
    return network


def first_answers(network):
    """Return how often the first of all entities is right, for each relation of the graph as if it were new."""
    right = []
    for task in sample_relations(network.graph, np.random.default_rng(1)):
        score = network.scorer_without(task.name, task.pairs[:3].astype(np.int64))
        for head, tail in task.pairs[3:13].tolist():
            right.append(int(np.argmax(score(head, np.arange(network.graph.num_entities)))) == tail)
    return np.mean(right)


def test_a_graph_teaches_what_counts_there():
    network = untrained(kin(), scale=-0.1)
    before = first_answers(network)
    network.fit_to_graph()
    assert first_answers(network) > before + 0.2


def test_what_serves_a_graph_already_serves_it_still():
    network = untrained(kin())
    network.fit_to_graph()
    assert first_answers(network) == 1.0


def test_fitting_twice_gives_the_same_weights(monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_INDEXES", "0")
    first, second = untrained(kin()), untrained(kin())
    first.fit_to_graph()
    second.fit_to_graph()
    assert first.fingerprint() == second.fingerprint() != untrained(kin()).fingerprint()


def test_a_graph_of_any_size_is_fitted_to_once(monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_INDEXES", "0")
    never_kept = untrained(kin())
    never_kept.fit_to_graph()
    with everything_on_disk():
        monkeypatch.setattr(index_files, "MIN_ROWS", 20_000)
        first, again = untrained(kin()), untrained(kin())
        first.fit_to_graph()
        monkeypatch.setattr(evidence_net, "fit_to_own_relations", None)
        again.fit_to_graph()
    assert first.fingerprint() == again.fingerprint() == never_kept.fingerprint()


def test_what_other_code_has_fitted_is_fitted_anew(monkeypatch):
    with everything_on_disk() as folder:
        untrained(kin()).fit_to_graph()
        monkeypatch.setattr(evidence_net, "fitting_code", lambda: "of another version")
        untrained(kin()).fit_to_graph()
        assert len(list(folder.glob("*/fitted-weights"))) == 2


def many_relations():
    """Return a graph with relations enough for either half to be fitted to."""
    triples = [(f"p{n}", f"relation {step}", f"p{(n + step) % 40}") for step in range(1, 13) for n in range(40)]
    return FewShotDataset("kin", ts.read_graph(triples), (), (), ())


def scores_of(network, relation):
    task = next(task for task in sample_relations(network.graph, np.random.default_rng(0)) if task.name == relation)
    score = network.scorer_without(relation, task.pairs[:3].astype(np.int64))
    return score(int(task.pairs[5, 0]), np.arange(network.graph.num_entities))


@pytest.mark.parametrize("relation", ["relation 3", "relation 4"])
def test_a_relation_is_asked_about_by_weights_that_were_not_fitted_to_it(relation):
    dataset = many_relations()
    number = dataset.graph.relations.id(relation)
    half = dataset.graph.relations.names.to_pylist()[number % 2 :: 2]
    index, table, start = EvidenceIndex(dataset.graph), FeatureTable(), untrained(dataset)
    state = universal_weights().arrays
    weights = NetworkWeights.of(state, np.zeros(len(table), bool), "the start")
    other = fit_to_own_relations(weights, index, table, dataset, half, max_steps=MAX_STEPS_OF_HALVES)
    start.fit_to_graph()
    apart = untrained(dataset)
    apart.restore(dataset, TrainedWeights.of(other.state(), None, "without half"))
    np.testing.assert_allclose(scores_of(start, relation), scores_of(apart, relation), rtol=1e-5)
    assert not np.allclose(scores_of(start, relation), scores_of(untrained(dataset), relation), rtol=1e-3)


def test_weights_that_were_replaced_since_the_fit_are_those_that_are_asked():
    dataset = many_relations()
    network = untrained(dataset)
    network.fit_to_graph()
    network.take_network(universal_weights())
    np.testing.assert_array_equal(scores_of(network, "relation 3"), scores_of(untrained(dataset), "relation 3"))


def fitted(dataset, index, max_steps):
    table, start = FeatureTable(), universal_weights().arrays
    network = NetworkWeights.of(start, np.zeros(len(table), bool), "the start")
    return network, fit_to_own_relations(network, index, table, dataset, max_steps=max_steps)


def test_arrays_alone_lead_to_the_same_weights():
    dataset = kin()
    native, plain = (EvidenceIndex(dataset.graph, native=is_native) for is_native in (True, False))
    start, one = fitted(dataset, native, max_steps=30)
    _, other = fitted(dataset, plain, max_steps=30)
    assert np.abs(one.values - start.values).max() > 0.01
    np.testing.assert_allclose(one.values, other.values, rtol=0.01, atol=0.01)


def in_circles(num_relations, num_entities, length=40):
    """Return a graph in which every relation leads from each entity to another."""
    steps = range(1, 1 + num_relations)
    triples = [(f"p{n}", f"relation {step}", f"p{(n + step) % length}") for step in steps for n in range(num_entities)]
    return FewShotDataset("circles", ts.read_graph(triples), (), (), ())


def test_a_dense_graph_also_teaches_a_network_that_starts_from_nothing():
    width = universal_settings().hidden_width
    for dataset, expected in ((kin(), width), (in_circles(19, 12), width), (in_circles(19, 40), 2 * width)):
        assert len(fitted(dataset, EvidenceIndex(dataset.graph), max_steps=15)[1].out) == expected
    network = untrained(in_circles(19, 40))
    network.fit_to_graph()
    assert first_answers(network) == 1.0


def test_hundreds_of_relations_also_teach_a_network_that_starts_from_nothing_with_a_smaller_share():
    width = universal_settings().hidden_width
    for dataset, expected in ((in_circles(100, 8, 200), width), (in_circles(101, 8, 200), 2 * width)):
        assert len(fitted(dataset, EvidenceIndex(dataset.graph), max_steps=3)[1].out) == expected
    shares = [share_from_nothing(*about) for about in ((101, 2.0), (101, 20.0), (15, 20.0), (14, 20.0), (100, 2.0))]
    assert shares == [SHARE_WHERE_MANY, SHARE_WHERE_DENSE, SHARE_WHERE_DENSE, 0, 0]


def test_no_more_than_a_bounded_number_of_draws_is_kept(monkeypatch):
    kept, keep, dataset = [], graph_fitting._Drawn, in_circles(19, 40)
    monkeypatch.setattr(graph_fitting, "MAX_KEPT", 2)
    monkeypatch.setattr(graph_fitting, "_Drawn", lambda *drawn: kept.append(drawn) or keep(*drawn))
    fitted(dataset, EvidenceIndex(dataset.graph), max_steps=5)
    assert len(kept) == 2


@pytest.mark.parametrize("num_relations", [0, 1, 4])
def test_a_graph_with_hardly_any_relation_to_learn_from_leaves_the_weights_alone(num_relations):
    triples = [(f"a{n}", f"r{relation}", f"b{n % 3}") for relation in range(num_relations) for n in range(9)]
    few = FewShotDataset("few", ts.read_graph([*triples, ("a", "r", "b")]), (), (), ())
    network = untrained(few)
    before = network.fingerprint()
    network.fit_to_graph()
    assert network.fingerprint() == before


def test_train_tasks_of_one_pair_are_nothing_to_learn_from():
    graph = ts.read_graph([("a", "r", "b"), ("c", "s", "d")])
    tasks = tuple(Task.of(f"task {number}", np.array([[0, 1]]), np.array([[0, 1]])) for number in range(MIN_RELATIONS))
    network = untrained(FewShotDataset("one pair each", graph, tasks, (), ()))
    before = network.fingerprint()
    network.fit_to_graph()
    assert network.fingerprint() == before


def test_valid_and_test_tasks_are_never_looked_at(tiny):
    fingerprints = []
    for dataset in (tiny, replace(tiny, valid=tiny.valid[:1], test=())):
        network = untrained(dataset)
        network.fit_to_graph()
        fingerprints.append({name: np.asarray(value).tobytes() for name, value in network.state().items()})
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize("relation", ["relation 3", "relation 34"])
def test_a_hidden_relation_is_not_seen(relation):
    whole = kin()
    without = ts.read_graph([triple for triple in whole.graph.triples() if triple[1] != relation])
    task = next(task for task in sample_relations(whole.graph, np.random.default_rng(0)) if task.name == relation)
    names = whole.graph.entities.names.to_pylist()
    same = {name: without.entities.id(name) for name in names}
    support = task.pairs[:3].astype(np.int64)
    turned = np.array([[same[names[entity]] for entity in pair] for pair in support.tolist()])
    hiding = untrained(whole).scorer_without(relation, support)
    lacking = untrained(FewShotDataset("without", without, (), (), ()))
    tails = np.arange(len(names))
    found = hiding(int(task.pairs[5, 0]), tails)
    right = lacking.score(turned, same[names[task.pairs[5, 0]]], np.array([same[name] for name in names]))
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


def test_the_more_relations_a_graph_has_the_longer_it_is_fitted_to_within_bounds():
    assert [count_steps(relations) for relations in (5, 15, 100, 200, 300, 10_000)] == [50, 150, 150, 750, 1000, 1000]
