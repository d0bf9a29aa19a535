from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.datasets.dataset import Task
from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.protocol import evaluate, metrics, rank_among, sample_queries, summarize
from tripleshot.methods import create_method
from tripleshot.training.fit import fit

SCORES = st.floats(allow_nan=False)


class Fixed:
    """Scores tails by a table, to make ranks known in advance."""

    def __init__(self, table):
        self.table = table

    def score(self, support, head, tails):
        return np.array([self.table(head, int(tail)) for tail in tails], dtype=float)


def plain_ranks(method, dataset, shots, split="test"):
    """The protocol as the field's code writes it: query by query, one list of candidates each."""
    ranks = []
    for task in dataset.tasks(split):
        for head, tail in task.queries(shots).tolist():
            known = {t for h, t in task.known.tolist() if h == head}
            rivals = [e for e in dataset.candidates(task).tolist() if e != tail and e not in known]
            scores = method.score(task.support(shots), head, np.array([tail, *rivals]))
            better = sum(score > scores[0] for score in scores[1:])
            equal = sum(score == scores[0] for score in scores[1:])
            ranks.append((1 + better, 1 + better + equal, len(rivals) + 1))
    return ranks


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


@pytest.mark.parametrize("shots", [1, 3])
@pytest.mark.parametrize("name", ["degree", "linked", "evidence"])
def test_grouped_ranking_equals_the_plain_protocol(tiny, name, shots):
    method = create_method(name)
    fit(method, tiny, shots)
    ranks = evaluate(method, tiny, shots).ranks
    found = zip(ranks.optimistic, ranks.pessimistic, ranks.num_candidates, strict=True)
    assert list(found) == plain_ranks(method, tiny, shots)


def with_test_task(dataset, pairs, known=None, candidates=None):
    return replace(dataset, test=(Task.of("t", np.array(pairs), known, candidates),))


def test_other_known_tails_are_no_rivals(tiny):
    dataset = with_test_task(tiny, [[9, 0], [1, 2], [1, 3]], known=np.array([[1, 4]]), candidates=np.arange(6))
    ranks = evaluate(Fixed(lambda head, tail: tail), dataset, shots=1).ranks
    assert ranks.pessimistic.tolist() == [2, 2]  # only 5 beats them: 4 is known to be true, and so are 2 and 3
    assert ranks.num_candidates.tolist() == [4, 4]


def test_a_true_tail_outside_the_candidates_is_scored_all_the_same(tiny):
    dataset = with_test_task(tiny, [[9, 0], [1, 7]], candidates=np.arange(3))
    ranks = evaluate(Fixed(lambda head, tail: -tail), dataset, shots=1).ranks
    assert ranks.pessimistic.tolist() == [4]


def test_in_open_mode_a_tail_that_is_no_candidate_is_never_found(tiny):
    graph = tiny.graph
    person, city, country = graph.entities.ids(["person:1", "city:1", "country:0"])
    dataset = with_test_task(tiny, [[person, city], [person, country]])
    ranks = evaluate(Fixed(lambda head, tail: tail), dataset, shots=1, candidates="open").ranks
    assert ranks.pessimistic.tolist() == [np.inf]
    assert summarize(ranks).micro == {"mrr": 0.0, "hits@1": 0.0, "hits@5": 0.0, "hits@10": 0.0}


def test_equal_scores_count_against_the_answer_by_default(tiny):
    dataset = with_test_task(tiny, [[9, 0], [1, 2]], candidates=np.arange(5))
    ranks = evaluate(Fixed(lambda head, tail: 0), dataset, shots=1).ranks
    assert [ranks.by(rule).tolist() for rule in ("pessimistic", "optimistic", "realistic")] == [[5], [1], [3]]
    assert summarize(ranks).micro["mrr"] == pytest.approx(1 / 5)


def test_micro_counts_queries_and_macro_counts_relations(tiny):
    ranks = evaluate(Fixed(lambda head, tail: tail), tiny, shots=5).ranks
    summary = summarize(ranks)
    assert sum(row["queries"] for row in summary.relations.values()) == len(ranks) == 30
    assert summary.macro["mrr"] == pytest.approx(np.mean([row["mrr"] for row in summary.relations.values()]))
    assert summary.micro["mrr"] == pytest.approx(np.mean(1 / ranks.pessimistic))


def test_nan_is_an_error_and_never_a_rank(tiny):
    with pytest.raises(TripleshotError, match="NaN for relation 'works in'"):
        evaluate(Fixed(lambda head, tail: float("nan")), tiny, shots=5)


def test_infinite_scores_can_be_ranked(tiny):
    dataset = with_test_task(tiny, [[9, 0], [1, 2]], candidates=np.arange(5))
    ranks = evaluate(Fixed(lambda head, tail: np.inf if tail == 2 else -np.inf), dataset, shots=1).ranks
    assert ranks.pessimistic.tolist() == [1]


def test_progress_reaches_the_number_of_queries(tiny):
    seen = []
    evaluate(Fixed(lambda head, tail: tail), tiny, shots=5, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_sample_keeps_whole_heads_with_support_candidates_and_known_tails_as_they_are(tiny, split):
    sample = sample_queries(tiny, 3, 8, split=split)
    assert sum(len(task.queries(3)) for task in sample.tasks(split)) == 8
    assert all(sample.tasks(other) is tiny.tasks(other) for other in ("train", "valid", "test") if other != split)
    for task in sample.tasks(split):
        whole = tiny.task(task.name)
        np.testing.assert_array_equal(task.support(3), whole.support(3))
        np.testing.assert_array_equal(sample.candidates(task), tiny.candidates(whole))
        asked = np.isin(whole.queries(3)[:, 0], task.queries(3)[:, 0])
        np.testing.assert_array_equal(task.queries(3), whole.queries(3)[asked])
        np.testing.assert_array_equal(task.known, whole.known)


def test_a_sampled_query_has_the_rank_that_it_has_among_all(tiny):
    method = create_method("degree")
    fit(method, tiny, 3)
    sample, whole = (evaluate(method, data, 3).ranks for data in (sample_queries(tiny, 3, 8, split="test"), tiny))

    def ranks(found):
        names = [found.relation_names[index] for index in found.relations]
        return dict(
            zip(zip(names, found.heads.tolist(), found.tails.tolist(), strict=True), found.pessimistic, strict=True)
        )

    assert ranks(sample).items() <= ranks(whole).items()


def test_a_sample_of_none_is_everything(tiny):
    assert sample_queries(tiny, 3, 0, split="test") is tiny


def test_an_empty_split_is_refused(tiny):
    with pytest.raises(InputError, match="no test tasks"):
        evaluate(Fixed(lambda head, tail: tail), replace(tiny, test=()), shots=1)


@pytest.mark.nell
@pytest.mark.parametrize(
    ("name", "shots", "queries", "expected"),
    [
        ("degree", 5, 2103, (0.071, 0.167, 0.094, 0.032)),
        ("support-frequency", 5, 2103, (0.216, 0.306, 0.260, 0.152)),
        ("linked", 5, 2103, (0.347, 0.479, 0.439, 0.257)),
        ("linked", 3, 2125, (0.297, 0.442, 0.385, 0.211)),
        ("linked", 1, 2147, (0.290, 0.405, 0.338, 0.225)),
        ("evidence", 5, 2103, (0.372, 0.488, 0.454, 0.286)),
    ],
)
def test_nell_one_gives_the_measured_floor(nell_one, name, shots, queries, expected):
    method = create_method(name)
    fit(method, nell_one, shots)
    ranks = evaluate(method, nell_one, shots).ranks
    micro = summarize(ranks).micro
    assert len(ranks) == queries
    assert tuple(micro[key] for key in ("mrr", "hits@10", "hits@5", "hits@1")) == pytest.approx(expected, abs=0.002)
