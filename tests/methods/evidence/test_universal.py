"""The weights that come with the package, on graphs that they have never seen."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.methods import create_method
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.universal import Universal, universal_settings, universal_weights
from tripleshot.methods.trainable import UNIVERSAL


def test_it_answers_on_any_graph_without_training(graph):
    method = create_method("universal")
    method.prepare(FewShotDataset("small", graph, (), (), ()), 2)
    support = graph.entities.ids(["ann", "north", "bob", "south"]).reshape(-1, 2)
    scores = method.score(support, graph.entities.id("cid"), np.arange(graph.num_entities))
    assert scores.shape == (graph.num_entities,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("is_fitted", [True, False])
def test_it_is_evidence_net_with_the_weights_of_the_package_fitted_to_the_graph(tiny, is_fitted):
    method, network = Universal(fitted=is_fitted), EvidenceNet(universal_settings())
    method.prepare(tiny, 3)
    network.restore(tiny, universal_weights())
    if is_fitted:
        network.fit_to_graph()
    question = (tiny.test[0].support(3), 0, np.arange(tiny.graph.num_entities))
    np.testing.assert_array_equal(method.score(*question), network.score(*question))
    reasons = method.explain(tiny.test[0].support(3), 0, 5)
    assert sum(reason.weight for reason in reasons) == pytest.approx(
        float(method.score(tiny.test[0].support(3), 0, np.array([5]))[0]), abs=1e-4
    )


def test_a_graph_that_has_changed_a_little_is_not_fitted_to_again(tiny):
    method = Universal()
    method.prepare(tiny, 3)
    moved = method.on(replace(tiny, graph=tiny.graph.with_triples([("new", "r0", "newer")])))
    assert moved.graph.num_triples == method.graph.num_triples + 1
    for name, weights in method.network.state().items():
        np.testing.assert_array_equal(moved.network.state()[name], weights)


def test_triples_of_train_tasks_are_edges_unless_it_is_told_otherwise(tiny):
    with_edges, without = create_method("universal"), create_method("universal", {"train_edges": False})
    with_edges.prepare(tiny, 3)
    without.prepare(tiny, 3)
    assert with_edges.graph.num_triples > without.graph.num_triples == tiny.graph.num_triples


def test_nobody_waits_for_torch():
    code = (
        "import sys, tripleshot; sys.modules['torch'] = None; "
        "graph = tripleshot.read_graph([('Baku', 'capital of', 'Azerbaijan'), ('Riga', 'capital of', 'Latvia')]); "
        "print(tripleshot.Predictor(graph, 'universal').predict('Baku', examples=[('Riga', 'Latvia')], k=1))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Azerbaijan" in found.stdout


def test_the_weights_are_a_few_kilobytes_and_know_no_names():
    assert sum(path.stat().st_size for path in UNIVERSAL.iterdir()) < 50_000
    assert {path.name for path in UNIVERSAL.iterdir()} == {
        "README.md",
        "calibration.json",
        "config.json",
        "weights.safetensors",
    }
