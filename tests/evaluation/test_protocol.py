from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tripleshot.datasets.dataset import Task
from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.ranks import summarize
from tripleshot.methods import create_method
from tripleshot.training.fit import fit


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


def test_an_evaluation_has_the_metrics_of_its_ranks(tiny):
    evaluation = evaluate(Fixed(lambda head, tail: tail), tiny, shots=5)
    summary = summarize(evaluation.ranks)
    assert len(evaluation) == 30
    assert evaluation.mrr == summary.micro["mrr"]
    assert evaluation.by_relation == summary.relations
    assert sum(row["queries"] for row in evaluation.by_relation.values()) == 30
    assert [evaluation.hits(k) for k in (1, 5, 10)] == [summary.micro[f"hits@{k}"] for k in (1, 5, 10)]
    assert evaluation.hits(100) == 1
    with pytest.raises(InputError, match="k must be 1 or more, not 0"):
        evaluation.hits(0)


def test_an_evaluation_is_a_table_with_a_row_per_query_by_name(tiny, tmp_path):
    evaluation = evaluate(Fixed(lambda head, tail: tail), tiny, shots=5)
    rows = evaluation.to_arrow().to_pylist()
    assert len(rows) == 30
    assert {name: rows[0][name] for name in ("relation", "head", "tail")} == {
        "relation": "works in",
        "head": "person:5",
        "tail": "city:1",
    }
    frame = evaluation.to_pandas()
    assert np.mean(1 / frame["pessimistic"]) == pytest.approx(evaluation.mrr)
    assert evaluation.to_polars().columns == list(frame.columns)
    evaluation.write(tmp_path / "ranks.tsv")
    assert len((tmp_path / "ranks.tsv").read_text().splitlines()) == 31


def test_an_evaluation_reads_like_a_table(tiny):
    evaluation = replace(evaluate(Fixed(lambda head, tail: tail), tiny, shots=5), seconds=1.25)
    about, headings, *rows = str(evaluation).splitlines()
    assert about == "tiny test, 5 shots, 30 queries, 1.2 s"
    assert headings.split() == ["relation", "queries", "mrr", "hits@10", "hits@5", "hits@1"]
    assert rows[0].startswith("works in")
    assert rows[-1].split()[-4:] == [f"{found:.3f}" for found in (evaluation.mrr, *map(evaluation.hits, (10, 5, 1)))]
    assert len({len(row) for row in (headings, *rows)}) == 1


class Trained(Fixed):
    shots = 3


def test_what_was_trained_for_some_shots_is_asked_with_them_unless_told_otherwise(tiny):
    model = Trained(lambda head, tail: tail)
    assert (evaluate(model, tiny).shots, len(evaluate(model, tiny))) == (3, 34)
    assert evaluate(model, tiny, 1).shots == 1
    with pytest.raises(InputError, match="shots: say how many"):
        evaluate(Fixed(lambda head, tail: tail), tiny)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shots": 0}, "shots is a number of examples, 1 or more, not 0"),
        ({"shots": -2}, "shots is a number of examples, 1 or more, not -2"),
        ({"shots": 20}, "20 shots leave no query: relation 'works in' has 20 triples"),
        ({"split": "tset"}, "split must be one of train, valid, test, not 'tset'"),
        ({"candidates": "closed"}, "candidates must be one of benchmark, open, not 'closed'"),
        ({"dataset": "atlsa"}, "did you mean 'atlas'"),
        ({"model": "evidence"}, "model: give what train returns or a prepared method, not 'evidence'"),
    ],
)
def test_wrong_arguments_are_named(tiny, wrong, message):
    given: dict[str, Any] = {"model": Trained(lambda head, tail: tail), "dataset": tiny, **wrong}
    with pytest.raises(InputError, match=message):
        evaluate(**given)


def test_what_is_prepared_for_another_graph_is_refused(tiny):
    method = create_method("degree")
    method.prepare(replace(tiny, graph=tiny.graph.with_triples([("person:0", "knows", "person:new")])), 3)
    with pytest.raises(InputError, match="model: it is prepared for another graph"):
        evaluate(method, tiny, 3)


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
