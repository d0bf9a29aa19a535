import numpy as np
import pytest
import torch
from torch import nn

from graphs import make_graph
from learning_checks import train_start
from tripleshot.errors import InputError
from tripleshot.methods.fewshot.gmatching import GMatchingMethod, GMatchingSettings
from tripleshot.methods.fewshot.vectors import SymbolVectors, restore_weights
from tripleshot.methods.trainable import Vectors
from tripleshot.training.checkpoints import save_weights
from tripleshot.training.fit import fit
from tripleshot.training.runs import load_trained_weights, save_names


@pytest.fixture
def start(tiny) -> Vectors:
    rng, graph = np.random.default_rng(0), tiny.graph
    counts = (graph.num_entities, 2 * graph.num_relations)
    entities, relations = (rng.normal(size=(count, 4)).astype(np.float32) for count in counts)
    return Vectors(entities, relations, "somewhere")


def test_vectors_start_from_those_that_are_given_and_unknown_names_stay_zero(tiny, start):
    symbols = SymbolVectors(tiny.graph.num_entities, tiny.graph.num_relations, 4)
    symbols.copy_from(start)
    np.testing.assert_array_equal(symbols.entities.weight[:-1].detach(), start.entities)
    np.testing.assert_array_equal(symbols.relations.weight[:-1].detach(), start.relations)
    assert not symbols.entities.weight[-1].any()
    assert not symbols.relations.weight[-1].any()


def test_vectors_of_another_width_are_refused(tiny, start):
    with pytest.raises(InputError, match="vectors of somewhere have width 4, not 5"):
        SymbolVectors(tiny.graph.num_entities, tiny.graph.num_relations, 5).copy_from(start)


def test_frozen_vectors_stay_and_the_rest_learns(tiny, tmp_path):
    start = train_start(tiny, tmp_path, width=4)
    settings = GMatchingSettings(
        width=4, max_neighbors=4, batch_size=8, steps=3, pretrained=str(tmp_path), fine_tune=False
    )
    method = GMatchingMethod(settings)
    fit(method, tiny, 3)
    np.testing.assert_array_equal(method.module.symbols.entities.weight[:-1], start.entities)
    untrained = GMatchingMethod(settings)
    untrained.prepare(tiny, 3)
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
    restore_weights(restored, load_trained_weights(tmp_path), after)
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
