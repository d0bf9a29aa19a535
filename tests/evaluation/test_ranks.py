import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.errors import InputError
from tripleshot.evaluation.ranks import Ranks, metrics, rank_among, summarize

SCORES = st.floats(allow_nan=False)


@given(st.lists(SCORES, max_size=30), st.lists(SCORES, min_size=1, max_size=5))
def test_ranks_agree_with_counting(rivals, answers):
    best, worst = rank_among(np.array(rivals, dtype=float), np.array(answers, dtype=float))
    assert best.tolist() == [1 + sum(rival > answer for rival in rivals) for answer in answers]
    assert worst.tolist() == [1 + sum(rival >= answer for rival in rivals) for answer in answers]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_metrics_agree_with_their_definition(ranks):
    found = metrics(np.array(ranks, dtype=float))
    assert found["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
    assert found["hits@5"] == pytest.approx(sum(rank <= 5 for rank in ranks) / len(ranks))
    assert found["hits@1"] <= found["hits@5"] <= found["hits@10"]


def ranks_of(relations, worst, best=None):
    count = len(relations)
    ids, names = np.zeros(count, np.int32), tuple(f"r{index}" for index in range(max(relations, default=0) + 1))
    best, worst = (np.array(found, dtype=float) for found in (best or worst, worst))
    return Ranks(np.array(relations, np.int32), ids, ids, best, worst, np.full(count, 9), names)


def test_micro_counts_queries_and_macro_counts_relations():
    summary = summarize(ranks_of([0, 0, 0, 1], [1, 2, 4, 10]))
    assert summary.micro["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 10) / 4)
    assert summary.macro["mrr"] == pytest.approx(((1 + 1 / 2 + 1 / 4) / 3 + 1 / 10) / 2)
    assert [row["queries"] for row in summary.relations.values()] == [3, 1]
    assert summary.relations["r1"]["hits@10"] == 1


def test_a_tie_rule_decides_where_equal_scores_come():
    ranks = ranks_of([0], [5], [1])
    assert [summarize(ranks, rule).micro["mrr"] for rule in ("pessimistic", "optimistic", "realistic")] == [
        pytest.approx(1 / 5),
        1,
        pytest.approx(1 / 3),
    ]


def test_some_queries_can_be_looked_at_alone():
    ranks = ranks_of([0, 0, 1], [1, 2, 4]).where(np.array([False, True, True]))
    assert ranks.pessimistic.tolist() == [2, 4]
    assert list(summarize(ranks).relations) == ["r0", "r1"]


def test_nothing_to_evaluate_is_an_error():
    with pytest.raises(InputError, match="no query"):
        summarize(ranks_of([], []))
