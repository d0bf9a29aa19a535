import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.answering.ranking import rank_tails


class Given:
    """A method whose scores are known beforehand, by tail."""

    def __init__(self, scores):
        self.scores = np.array(scores, dtype=float)

    def fit(self, dataset, shots):
        pass

    def score(self, support, head, tails):
        return self.scores[tails]


SUPPORT = np.array([[100, 0]])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 50))
def test_the_best_are_those_of_a_full_sort_with_equals_in_order(scores, top):
    pool = np.arange(len(scores))
    ranked = rank_tails(Given(scores), SUPPORT, 200, pool, top)
    assert ranked.tails.tolist() == sorted(pool.tolist(), key=lambda tail: -scores[tail])[:top]
    assert ranked.scores.tolist() == sorted(scores, reverse=True)[:top]
    assert ranked.num_candidates == len(scores)


def test_what_the_examples_say_is_ranked_and_marked_when_asked_for():
    ranked = rank_tails(Given([3, 1, 2]), SUPPORT, 100, np.arange(3), 10)
    assert (ranked.tails.tolist(), ranked.is_known.tolist()) == ([2, 1], [False, False])
    ranked = rank_tails(Given([3, 1, 2]), SUPPORT, 100, np.arange(3), 10, include_known=True)
    assert (ranked.tails.tolist(), ranked.is_known.tolist()) == ([0, 2, 1], [True, False, False])
    assert ranked.num_candidates == 3


def test_no_candidates_give_no_answers():
    ranked = rank_tails(Given([1.0]), SUPPORT, 100, np.array([0]), 10)
    assert ranked.tails.tolist() == []
