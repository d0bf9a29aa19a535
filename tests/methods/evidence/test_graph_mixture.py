"""One network on several graphs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tripleshot.errors import InputError
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.evidence_net import tiny as tiny_settings
from tripleshot.methods.evidence.graph_mixture import GraphMixture, turned


@pytest.fixture
def other(tiny):
    return replace(tiny, name="other", train=tiny.train[:1])


def test_all_parts_share_one_network(tiny, other):
    mixture = GraphMixture(tiny_settings(), [tiny, other], 3)
    assert len(mixture.wholes) == 2
    assert len(mixture.parts) == 8
    assert all(part.module is mixture.module for part in mixture.parts)


def test_copies_of_a_graph_are_thinned(tiny, other):
    mixture = GraphMixture(tiny_settings(), [tiny, other], 3, thinned=(0.5, 0.2))
    whole, turned_around, half, fifth = (mixture.parts[place].graph.num_triples for place in (0, 2, 3, 4))
    assert whole == turned_around > half > fifth
    assert mixture.weights.sum() == pytest.approx(1)


def test_in_a_turned_dataset_tails_ask_for_heads(tiny):
    backwards = turned(tiny.with_train_edges)
    assert {task.name for task in tiny.train} < {task.name for task in backwards.train}
    task = backwards.train[[task.name for task in backwards.train].index(tiny.train[0].name)]
    np.testing.assert_array_equal(task.pairs, tiny.train[0].pairs[:, ::-1])
    assert backwards.graph is tiny.with_train_edges.graph


def test_a_mixture_of_one_graph_draws_what_that_graph_alone_draws(tiny):
    mixture, alone = GraphMixture(tiny_settings(), [tiny], 3, thinned=()), EvidenceNet(tiny_settings())
    alone.prepare(tiny, 3)
    alone.stages()
    mixture.stages()
    drawn, expected = (method.draw(np.random.default_rng(1), 4) for method in (mixture.parts[0], alone))
    for ours, other in zip(drawn, expected, strict=True):
        torch.testing.assert_close(ours, other)


def test_the_loss_is_that_of_all_graphs_that_were_drawn(tiny, other):
    mixture = GraphMixture(replace(tiny_settings(), max_shots=4), [tiny, other], 3)
    (stage,) = mixture.stages()
    losses = stage.losses(0, np.random.default_rng(0))
    losses["evidence"].backward()
    gradient = mixture.module.hidden.weight.grad
    assert gradient is not None
    assert 0 < gradient.abs().sum() < float("inf")


def test_relations_of_a_step_must_be_divisible_among_graphs(tiny):
    with pytest.raises(InputError, match="relations_per_step must be a multiple of 2"):
        GraphMixture(replace(tiny_settings(), relations_per_step=1, batch_size=8), [tiny], 3)
