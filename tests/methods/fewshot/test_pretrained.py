from dataclasses import asdict

import numpy as np
import pytest

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, InputWarning
from tripleshot.methods.embedding.method import EmbeddingMethod
from tripleshot.methods.embedding.settings import EmbeddingSettings
from tripleshot.methods.fewshot.pretrained import load_vectors
from tripleshot.training.fit import fit
from tripleshot.training.runs import RunConfig, save_config, save_names

SMALL = EmbeddingSettings(width=6, batch_size=8, num_negatives=2, steps=2, warmup=0)


def train(name, dataset, folder):
    method = EmbeddingMethod(name, SMALL)
    fit(method, dataset, 3, folder)
    save_config(RunConfig(name, asdict(SMALL), 3, "tiny", "tiny", dataset.content_hash, "", None), folder)
    save_names(dataset.graph, folder)
    return method


@pytest.mark.parametrize(("name", "size"), [("transe", 6), ("complex", 12)])
def test_a_run_gives_its_vectors(tiny, tmp_path, name, size):
    method = train(name, tiny, tmp_path)
    vectors = load_vectors(tmp_path, tiny)
    assert vectors.entities.shape == (tiny.graph.num_entities, size)
    assert vectors.relations.shape == (tiny.graph.num_relations, size)
    assert vectors.entities.dtype == vectors.relations.dtype == np.float32
    table = method.module.relations["vectors"].detach().numpy()
    np.testing.assert_array_equal(vectors.relations, table[: tiny.graph.num_relations])
    if name == "transe":
        np.testing.assert_allclose(np.linalg.norm(vectors.entities, axis=1), 1, atol=1e-5)


def test_names_are_what_counts_and_new_ones_are_zero(tiny, tmp_path):
    train("transe", tiny, tmp_path)
    grown = tiny.graph.with_triples([("newcomer", "met", "person:1")])
    with pytest.warns(InputWarning, match="1 of 27 entities and 1 of 5 relations"):
        vectors = load_vectors(tmp_path, FewShotDataset("grown", grown, (), (), ()))
    before = load_vectors(tmp_path, tiny)
    np.testing.assert_array_equal(vectors.entities[:-1], before.entities)
    assert not vectors.entities[-1].any()
    assert not vectors.relations[-1].any()


def test_a_method_without_vectors_is_refused(tiny, tmp_path):
    train("rescal", tiny, tmp_path)
    with pytest.raises(InputError, match="rescal has no vectors to start from; transe"):
        load_vectors(tmp_path, tiny)


def test_a_folder_that_is_no_run_is_refused(tiny, tmp_path):
    with pytest.raises(InputError, match="not a run"):
        load_vectors(tmp_path, tiny)
