from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from graphs import make_graph
from tripleshot.errors import InputError
from tripleshot.methods.fewshot import vectors as symbol_vectors
from tripleshot.methods.fewshot.gmatching import GMatchingMethod, GMatchingSettings
from tripleshot.methods.fewshot.pretrained import Vectors
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.training.checkpoints import save_weights
from tripleshot.training.fit import fit
from tripleshot.training.runs import RunConfig, save_config, save_names

CONFIG = RunConfig("transe", {}, 3, "tiny", "tiny", "", "", None)


@pytest.fixture
def found(tiny, monkeypatch) -> Vectors:
    chance, graph = np.random.default_rng(0), tiny.graph
    entities, relations = (
        chance.normal(size=(count, 4)).astype(np.float32) for count in (graph.num_entities, graph.num_relations)
    )
    vectors = Vectors(entities, relations)
    monkeypatch.setattr(symbol_vectors, "load_vectors", lambda folder, dataset: vectors)
    return vectors


@pytest.mark.parametrize(("method", "signs"), [("transe", -1), ("distmult", 1), ("complex", [1, 1, -1, -1])])
def test_vectors_start_from_a_run_and_its_inverse_relations(tiny, tmp_path, found, method, signs):
    save_config(replace(CONFIG, method=method), tmp_path)
    symbols = SymbolVectors(tiny.graph.num_entities, tiny.graph.num_relations, 4)
    symbols.begin(str(tmp_path), False, tiny)
    entities, relations = found.entities, np.concatenate([found.relations, found.relations * signs])
    if method == "complex":
        entities, relations = (
            (part - part.mean(1, keepdims=True)) / (part.std(1, ddof=1, keepdims=True) + 1e-3)
            for part in (entities, relations)
        )
    np.testing.assert_allclose(symbols.entities.weight[:-1], entities, atol=1e-5)
    np.testing.assert_allclose(symbols.relations.weight[:-1], relations, atol=1e-5)
    assert not symbols.entities.weight[-1].any()


def test_vectors_of_another_width_are_refused(tiny, tmp_path, found):
    save_config(CONFIG, tmp_path)
    with pytest.raises(InputError, match="have width 4, not 5"):
        SymbolVectors(tiny.graph.num_entities, tiny.graph.num_relations, 5).begin(str(tmp_path), True, tiny)


def test_frozen_vectors_stay_and_the_rest_learns(tiny, tmp_path, found):
    save_config(CONFIG, tmp_path)
    settings = GMatchingSettings(
        width=4, max_neighbors=4, batch_size=8, steps=3, pretrained=str(tmp_path), fine_tune=False
    )
    method = GMatchingMethod(settings)
    fit(method, tiny, 3)
    np.testing.assert_array_equal(method.module.symbols.entities.weight[:-1], found.entities)
    untrained = GMatchingMethod(settings)
    untrained.prepare(tiny)
    assert not torch.equal(method.module.combine.weight, untrained.module.combine.weight)


def test_names_find_their_vectors_again_in_another_graph(tmp_path):
    class Holder(nn.Module):
        def __init__(self, graph):
            super().__init__()
            self.symbols = SymbolVectors(graph.num_entities, graph.num_relations, 2)

    before = make_graph([("a", "r", "b"), ("b", "s", "c")])
    after = make_graph([("c", "s", "new"), ("a", "t", "b")])
    trained, restored = Holder(before), Holder(after)
    save_weights(trained, tmp_path)
    save_names(before, tmp_path)
    restore_weights(restored, tmp_path, after)
    for name in ("a", "b", "c"):
        rows = before.entities.id(name), after.entities.id(name)
        assert torch.equal(trained.symbols.entities.weight[rows[0]], restored.symbols.entities.weight[rows[1]])
    assert not restored.symbols.entities.weight[after.entities.id("new")].any()
    relations, old = restored.symbols.relations.weight, trained.symbols.relations.weight
    s, t = after.relations.id("s"), after.relations.id("t")
    assert torch.equal(relations[s], old[1])
    assert torch.equal(relations[s + 2], old[3])  # its inverse
    assert not relations[t].any()
    assert not relations[t + 2].any()
