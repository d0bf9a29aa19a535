"""What every method that learns from episodes must do, asked in the same way."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods.trainable import Vectors
from tripleshot.training.fit import fit, train_run
from tripleshot.training.runs import load_start, load_trained_weights

SHOTS = 3


def question(dataset, shots=SHOTS):
    task = dataset.test[0]
    return task.support(shots), int(task.queries(shots)[0, 0]), np.arange(dataset.graph.num_entities)


def memorized_mrr(method, dataset):
    """Train without validation, then ask the train tasks as if they were test tasks."""
    fit(method, replace(dataset, valid=()), SHOTS)
    seen = FewShotDataset("seen", dataset.graph, (), (), dataset.train)
    return evaluate(method, seen, SHOTS).mrr


def assert_queries_change_nothing(make, dataset):
    """Take every query of the test tasks away: the scores stay the same to the bit."""
    bare = replace(dataset, test=tuple(replace(task, pairs=task.pairs[:4], known=task.known) for task in dataset.test))
    methods = make(), make()
    for method, given in zip(methods, (dataset, bare), strict=True):
        fit(method, given, SHOTS)
    asked = question(dataset)
    np.testing.assert_array_equal(methods[0].score(*asked), methods[1].score(*asked))


def assert_resumes_to_the_same_weights(make, dataset, folder, stop_at):
    """Stop a training between two checkpoints, go on, and restore it: weights and scores as if nothing had been."""
    whole = make()
    fit(whole, dataset, SHOTS, folder)
    broken = folder / "broken"
    broken.mkdir()

    with pytest.raises(RuntimeError, match="power cut"):
        fit(make(), dataset, SHOTS, broken, callback=cut_power_at(stop_at))
    resumed = make()
    fit(resumed, dataset, SHOTS, broken, resume=True)
    expected = whole.module.state_dict()
    for name, weights in resumed.module.state_dict().items():
        assert torch.equal(weights, expected[name]), name
    restored = make()
    restored.restore(dataset, load_trained_weights(broken))
    asked = question(dataset)
    np.testing.assert_array_equal(restored.score(*asked), whole.score(*asked))


def cut_power_at(step):
    """Return a callback that ends a training after this step as a power cut would."""

    def cut(update):
        if update.step == step:
            raise RuntimeError("power cut")

    return cut


def train_start(dataset, folder, width):
    """Train some steps of TransE into a folder, for another method to start from, and return its vectors."""
    settings = {"width": width, "batch_size": 16, "num_negatives": 2, "steps": 3, "warmup": 0}
    train_run("transe", dataset, SHOTS, folder, settings=settings)
    return load_vectors(folder, dataset)


def load_vectors(folder, dataset):
    vectors = load_start("vectors", str(folder), dataset)
    assert isinstance(vectors, Vectors)
    return vectors


def edges_of(graph, entity):
    """Return the edges that leave an entity, inverses included, in file order."""
    relations, entities = graph.adjacency.edges(entity)
    return list(zip(relations.tolist(), entities.tolist(), strict=True))
