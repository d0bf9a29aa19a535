import numpy as np

from tripleshot.methods.known_supports import KnownSupports

SUPPORTS = np.array([[[1, 2], [3, 4]], [[5, 6], [-1, -1]], [[3, 4], [1, 2]]])


def test_examples_are_recognised_in_any_order_and_the_last_task_wins():
    known = KnownSupports(SUPPORTS)
    assert len(known) == 3
    assert known.find(np.array([[1, 2], [3, 4]], dtype=np.int32)) == 2
    assert known.find(np.array([[5, 6]])) == 1
    assert known.find(np.array([[1, 2]])) is None
