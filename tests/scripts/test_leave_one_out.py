"""Measuring the network on a graph that it has never seen."""

import numpy as np
import pytest

from leave_one_out import in_bins, mean_of


def test_a_bin_has_its_weight_and_how_much_of_it_is_confidence_and_right():
    said, right = np.array([0.05, 0.91, 0.99, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    bins = in_bins(said, right, np.full(4, 0.25))
    assert len(bins) == 10
    assert bins[0] == pytest.approx([0.25, 0.0125, 0.0])
    assert bins[-1] == pytest.approx([0.75, 0.725, 0.5])
    assert all(row == [0.0, 0.0, 0.0] for row in bins[1:-1])


def row(mrr, **more):
    metrics = {"mrr": mrr, "hits@1": 0.0}
    about = {"label": "only", "seconds": 1.5}
    return {**about, "micro": metrics, "macro": metrics, "relations": {"r": {"queries": 7, **metrics}}, **more}


def test_draws_become_one_row_with_their_means_and_what_each_gave():
    found = mean_of([row(0.25), row(0.5)], "mrr_by_draw")
    assert found["label"] == "only"
    assert found["seconds"] == 3.0
    assert found["micro"] == found["macro"] == {"mrr": 0.375, "hits@1": 0.0}
    assert found["relations"]["r"] == {"queries": 7, "mrr": 0.375, "hits@1": 0.0}
    assert found["mrr_by_draw"] == [0.25, 0.5]


def test_seeds_become_one_row_with_the_mean_of_every_draw():
    found = mean_of([row(0.25, mrr_by_draw=[0.2, 0.3]), row(0.5, mrr_by_draw=[0.4, 0.6])], "mrr_by_seed")
    assert found["mrr_by_seed"] == [0.25, 0.5]
    assert found["mrr_by_draw"] == pytest.approx([0.3, 0.45])
