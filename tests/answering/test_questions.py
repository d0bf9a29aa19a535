"""A relation of the graph is asked about as if it were new."""

import numpy as np
import pytest

from tripleshot.answering.predictor import Predictor
from tripleshot.answering.questions import (
    MANY,
    MAX_EXAMPLES,
    draw_examples,
    find_asked,
    find_known_relation,
    hide_relation,
)
from tripleshot.errors import InputError


def test_examples_are_drawn_alike_each_time_and_spread_over_heads():
    pairs = np.array([[head, tail] for head in range(4) for tail in range(30)])
    drawn = draw_examples(pairs)
    assert len(drawn) == MAX_EXAMPLES
    assert len(np.unique(drawn, axis=0)) == MAX_EXAMPLES
    assert set(drawn[:4, 0]) == {0, 1, 2, 3}
    np.testing.assert_array_equal(drawn, draw_examples(pairs))
    assert len(draw_examples(pairs[:3])) == 3


@pytest.mark.parametrize("name", ["lives in", "citizen of", "born in", "works in"])
def test_a_relation_of_the_graph_or_of_any_task_is_known_and_can_be_hidden(tiny, name):
    found = find_known_relation(tiny, name)
    assert found is not None
    assert (found.name, len(found.pairs)) == (name, 20)
    assert find_known_relation(hide_relation(tiny, name), name) is None
    assert find_known_relation(tiny, "owns") is None


@pytest.mark.parametrize("side", ["head", "tail"])
def test_a_question_about_a_relation_of_the_graph_does_not_look_at_it(tiny, side):
    whole = Predictor(tiny.whole)
    question = whole.question(None, "lives in", side)
    assert "lives in" not in question.predictor.graph.relations
    assert question.predictor is whole.question(None, "lives in", side).predictor
    pairs = tiny.graph.pairs_of(tiny.graph.relations.id("lives in"))
    expected = pairs if side == "head" else pairs[:, ::-1]
    assert set(map(tuple, question.known.tolist())) == set(map(tuple, expected.tolist()))
    assert set(map(tuple, question.support.tolist())) <= set(map(tuple, expected.tolist()))


def test_a_relation_that_the_method_does_not_see_needs_no_other_predictor(tiny):
    predictor = Predictor(tiny)
    assert "works in" not in predictor.graph.relations
    question = predictor.question(None, "works in")
    assert question.predictor is predictor
    assert len(question.known) == len(question.support) + 20
    assert predictor.question(None, "votes in").predictor is not predictor  # a train task, whose triples are edges


def test_no_more_examples_are_drawn_than_wanted(tiny):
    assert len(Predictor(tiny).question(None, "lives in", max_drawn=3).support) == 3


def test_answers_about_a_relation_of_the_graph_leave_out_what_it_says(tiny):
    whole = Predictor(tiny.whole)
    answers = whole.predict("person:1", relation="lives in")
    assert answers.relation == "lives in"
    assert {one.name for one in answers[0]} == {"city:0", "city:2", "city:3"}
    marked = whole.predict("person:1", relation="lives in", include_known=True)[0]
    assert marked[0].name == "city:1"  # other relations say the same
    assert marked[0].is_known
    (batch,) = whole.predict_batches("person:1", relation="lives in")
    assert batch.num_rows == 3
    assert "(lives in)?" in str(whole.explain("person:1", "city:0", relation="lives in"))


def test_examples_of_ones_own_are_taken_before_those_of_the_graph(tiny):
    question = Predictor(tiny.whole).question([("person:0", "city:0")], "lives in")
    assert len(question.support) == 1
    assert len(question.known) == 21


def test_a_name_that_the_graph_does_not_have_is_a_name_and_no_more(tiny):
    predictor = Predictor(tiny.graph)
    answers = predictor.predict("person:3", examples=[("person:0", "city:0")], relation="shops in")
    assert str(answers).startswith("person:3 — shops in → ?\n")
    assert answers[0] == predictor.predict("person:3", examples=[("person:0", "city:0")])[0]
    with pytest.raises(InputError, match="no relation 'live in' to take examples from; did you mean 'lives in'"):
        predictor.predict("person:3", relation="live in")
    with pytest.raises(InputError, match=r"examples: give at least one pair.*or the name of a relation"):
        predictor.predict("person:3")


def test_the_side_that_is_asked_about_is_explained(tiny):
    predictor = Predictor(tiny.graph)
    examples = [("person:0", "city:0"), ("person:1", "city:1")]
    best = predictor.predict(tails="city:2", examples=examples)[0][0]
    why = predictor.explain(best.name, "city:2", examples=examples, asked_side="tail")
    assert why.score == pytest.approx(best.score)
    assert str(why).startswith(f"Why {best.name} for city:2?")


def test_many_entities_are_found_as_one_by_one(tiny):
    predictor = Predictor(tiny, "evidence")
    given = [*tiny.graph.entities.names.to_pylist(), "#3", 5] * 10
    assert len(given) > MANY
    assert find_asked(predictor, given, None) == ("head", [predictor.resolve(entity) for entity in given])
    with pytest.raises(InputError, match="unknown entity 'nobody'"):
        find_asked(predictor, [*given, "nobody"], None)
