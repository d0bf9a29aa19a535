import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.answering.ranking import Ranked, as_candidates, choose_candidates, count_candidates, rank_in_slices
from tripleshot.answering.steps import finish
from tripleshot.datasets.dataset import candidates_like
from tripleshot.evaluation.calibration import Calibration
from tripleshot.evaluation.confidence_curves import Curve, NoneCurve
from tripleshot.graph.types import EntityTypes


class Given:
    """A method whose scores are known beforehand, by tail."""

    def __init__(self, scores):
        self.scores = np.array(scores, dtype=float)

    def fit(self, dataset, shots):
        pass

    def score(self, support, head, tails):
        return self.scores[tails]


SUPPORT = np.array([[100, 0]])


def rank(*asked, **choices) -> Ranked:
    return finish(rank_in_slices(*asked, **choices))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 50))
def test_the_best_are_those_of_a_full_sort_with_equals_in_order(scores, top):
    pool = np.arange(len(scores))
    ranked = rank(Given(scores), SUPPORT, 200, pool, top)
    assert ranked.tails.tolist() == sorted(pool.tolist(), key=lambda tail: -scores[tail])[:top]
    assert ranked.scores.tolist() == sorted(scores, reverse=True)[:top]
    assert ranked.num_candidates == len(scores)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 50))
def test_slices_give_the_answers_of_the_whole(scores, slice_size):
    asked = (Given(scores), SUPPORT, 200, np.arange(len(scores)), 5)
    steps = list(rank_in_slices(*asked, slice_size=slice_size))
    assert len(steps) == -(-len(scores) // slice_size)
    assert rank(*asked, slice_size=slice_size).tails.tolist() == rank(*asked).tails.tolist()


def test_what_the_examples_say_is_ranked_and_marked_when_asked_for():
    ranked = rank(Given([3, 1, 2]), SUPPORT, 100, np.arange(3), 10)
    assert (ranked.tails.tolist(), ranked.is_known.tolist()) == ([2, 1], [False, False])
    ranked = rank(Given([3, 1, 2]), SUPPORT, 100, np.arange(3), 10, include_known=True)
    assert (ranked.tails.tolist(), ranked.is_known.tolist()) == ([0, 2, 1], [True, False, False])
    assert ranked.num_candidates == 3


def test_no_candidates_give_no_answers():
    ranked = rank(Given([1.0]), SUPPORT, 100, np.array([0]), 10)
    assert ranked.tails.tolist() == []


def test_what_is_known_is_left_out_or_marked_and_certain():
    known = np.array([[5, 1], [5, 2], [6, 3]])
    ranked = rank(Given([0, 9, 8, 7]), np.array([[5, 1]]), 5, np.arange(4), 9, known=known)
    assert ranked.tails.tolist() == [3, 0]
    marked = rank(Given([0, 9, 8, 7]), np.array([[5, 1]]), 5, np.arange(4), 9, include_known=True, known=known)
    assert marked.tails[marked.is_known].tolist() == [1, 2]


def confidence_by_tail(ranked: Ranked) -> dict[int, float]:
    assert ranked.confidence is not None
    return dict(zip(ranked.tails.tolist(), ranked.confidence.tolist(), strict=True))


def test_what_the_graph_knows_is_a_rival_that_leaves_the_others_little():
    calibration = Calibration(Curve(1.0, 1.0, 0.0), 2, 2, 0.0, 0.0, NoneCurve(1.0, -1.0))
    support, pool, known = np.array([[5, 1]]), np.arange(4), np.array([[5, 1], [5, 2]])
    alone = rank(Given([0, 9, 8, 1]), support, 5, pool, 9, calibration=calibration)
    left_out, marked = (
        rank(Given([0, 9, 8, 1]), support, 5, pool, 9, include_known, calibration, known)
        for include_known in (False, True)
    )
    assert alone.tails.tolist() == [2, 3, 0]
    assert alone.none is not None
    assert (left_out.none, marked.none) == (None, None)
    expected = confidence_by_tail(alone)
    assert confidence_by_tail(left_out) == {3: expected[3], 0: expected[0]}
    assert confidence_by_tail(marked) == {1: 1, 2: 1, 3: expected[3], 0: expected[0]}


def test_a_type_named_thousands_of_times_costs_as_much_memory_as_named_once():
    cities = {f"city {number}": "city" for number in range(1000)}
    graph = make_graph([("mayor", "leads", city) for city in cities], cities)
    once, often = choose_candidates(graph, SUPPORT, ("city",)), ("city",) * 10_000
    tracemalloc.start()
    found = choose_candidates(graph, SUPPORT, often)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == once.tolist()
    assert peak < 1_000_000  # 80 million bytes if it were expanded


def candidates(triples, examples, **choices):
    graph = make_graph(triples)
    support = np.array([graph.entities.ids(pair) for pair in examples])
    return {graph.entities.name(entity) for entity in choose_candidates(graph, support, **choices)}, graph, support


WORK = [("ann", "works at", "acme"), ("bob", "works at", "bits"), ("bob", "knows", "ann"), ("acme", "in", "rome")]


def test_without_types_tails_are_what_stands_where_those_of_the_examples_stand():
    found, graph, support = candidates(WORK, [("ann", "acme")])
    assert found == {"acme", "bits"}
    assert sorted(found) == sorted(map(graph.entities.name, candidates_like(graph, support[:, 1])))


def test_without_types_heads_are_what_stands_where_those_of_the_examples_stand():
    found, _, _ = candidates(WORK, [("acme", "ann")], asks_for_heads=True)
    assert found == {"ann", "bob"}


def test_an_answer_that_never_stands_there_counts_for_where_it_does():
    assert candidates(WORK, [("acme", "bob")])[0] == {"ann", "bob"}
    assert candidates(WORK, [("ann", "rome")], asks_for_heads=True)[0] == {"rome"}


@given(st.sampled_from(["open", "all", ["city"], ["city", "port"], ["river", "river"], []]), st.integers(0, 4))
def test_no_more_candidates_are_found_than_were_counted(chosen, answer):
    plain = make_graph([("a", "r", "b"), ("c", "r", "d"), ("d", "r", "e")])
    names, types = ["a", "b", "b", "c", "d"], ["city", "city", "port", "port", "river"]
    graph = plain.with_types(EntityTypes.from_pairs(plain.entities.ids(names), types, plain.num_entities))
    support, kinds = np.array([[0, answer]]), as_candidates(chosen)
    counted = count_candidates(graph, support, kinds)
    assert counted is not None
    found = len(choose_candidates(graph, support, kinds))
    assert found <= counted <= found + 1  # b is a city and a port


def test_without_types_open_candidates_cannot_be_counted_before():
    graph = make_graph([("a", "r", "b")])
    assert count_candidates(graph, np.array([[0, 1]])) is None
    assert count_candidates(graph, np.array([[0, 1]]), "all") == 2
