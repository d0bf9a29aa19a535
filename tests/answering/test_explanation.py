import pytest

from graphs import make_graph
from tripleshot.answering.explanation import Explanation, WeightedNeighbor
from tripleshot.methods.protocol import Reason

GRAPH = make_graph([("Baku", "is a city in", "Azerbaijan"), ("Azerbaijan", "has a coast on the", "Caspian Sea")])


def explanation(reasons=(), weight=None):
    neighbors = (WeightedNeighbor("head", 1, 0, 1, None, weight, None),)
    return Explanation(GRAPH, 0, 2, 1.0, (), neighbors, (), reasons, (), None)


def test_reasons_that_weigh_next_to_nothing_and_the_start_are_not_told():
    given = [("path", 1.0), ("walk", 0.5), ("degree", 0.001), ("link", -0.3), ("text", -0.01), ("start", 4.0)]
    found = explanation(tuple(Reason(kind, kind, weight) for kind, weight in given)).main_reasons
    assert [reason.kind for reason in found] == ["path", "walk", "link"]


def test_the_weightiest_of_many_reasons_are_told_in_their_order():
    reasons = tuple(Reason(str(place), "", weight) for place, weight in enumerate([1.0] * 7 + [0.1] + [-2.0, -0.2]))
    assert [reason.kind for reason in explanation(reasons).main_reasons] == ["0", "1", "2", "3", "4", "5", "6", "8"]


def test_a_reason_that_weighs_nothing_is_none():
    assert explanation((Reason("degree", "it has no edges", 0.0),)).main_reasons == ()


@pytest.mark.parametrize(
    ("reasons", "weight", "kinds"),
    [
        ((Reason("path", "a path", 0.4),), None, ("reasons",)),
        ((Reason("path", "a path", 0.4),), 0.5, ("reasons", "neighbors")),
        ((), 0.5, ("neighbors",)),
        ((), None, ("neighbors",)),
    ],
)
def test_what_there_is_to_draw_is_known(reasons, weight, kinds):
    assert explanation(reasons, weight).plot_kinds == kinds
