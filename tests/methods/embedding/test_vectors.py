"""What few-shot methods start from: vectors of unit length where the model makes them so, and of inverse relations."""

from dataclasses import asdict

import numpy as np
import pytest

from learning_checks import load_vectors
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputWarning
from tripleshot.methods.embedding.settings import EmbeddingSettings
from tripleshot.training.fit import train_run

SMALL = EmbeddingSettings(width=6, batch_size=8, num_negatives=2, steps=2, warmup=0)


def train(name, dataset, folder):
    return train_run(name, dataset, 3, folder, settings=asdict(SMALL))


def tables_of(method, graph):
    weights = method.module.state_dict()
    return weights["entities.weight"][:-1].numpy(), weights["relations.vectors"][: graph.num_relations].numpy()


def standardised(table):
    return (table - table.mean(1, keepdims=True)) / (table.std(1, ddof=1, keepdims=True) + 1e-3)


@pytest.mark.parametrize(
    ("name", "signs"), [("transe", [-1] * 6), ("distmult", [1] * 6), ("complex", [1] * 6 + [-1] * 6)]
)
def test_a_run_gives_its_vectors_and_those_of_inverse_relations(tiny, tmp_path, name, signs):
    entities, forward = tables_of(train(name, tiny, tmp_path), tiny.graph)
    vectors = load_vectors(tmp_path, tiny)
    relations = np.concatenate([forward, forward * signs])
    if name == "transe":
        entities = entities / np.linalg.norm(entities, axis=1, keepdims=True)
    if name == "complex":
        entities, relations = standardised(entities), standardised(relations)
    assert vectors.entities.dtype == vectors.relations.dtype == np.float32
    np.testing.assert_allclose(vectors.entities, entities, atol=1e-5)
    np.testing.assert_allclose(vectors.relations, relations, atol=1e-5)


def test_names_are_what_counts_and_new_ones_are_zero(tiny, tmp_path):
    train("transe", tiny, tmp_path)
    grown = tiny.graph.with_triples([("newcomer", "met", "person:1")])
    with pytest.warns(InputWarning, match="1 of 27 entities and 1 of 5 relations"):
        vectors = load_vectors(tmp_path, FewShotDataset("grown", grown, (), (), ()))
    before = load_vectors(tmp_path, tiny)
    np.testing.assert_array_equal(vectors.entities[:-1], before.entities)
    assert not vectors.entities[-1].any()
    assert not vectors.relations[[4, 9]].any()
