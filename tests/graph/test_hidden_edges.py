import numpy as np
import pytest

from tripleshot.graph.hidden_edges import HiddenEdges


def test_nothing_hidden_has_no_relation_and_hides_no_edge():
    nothing = HiddenEdges.none()
    assert nothing.is_none
    assert nothing.relation is None
    assert nothing.take(np.array([3, 4])).is_none
    assert nothing.relations_of(np.arange(3)) == -1
    assert not nothing.hides(np.zeros((2, 3), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)).any()


def test_one_relation_is_hidden_from_all_that_is_asked():
    hidden = HiddenEdges.of(2)
    assert (hidden.is_none, hidden.relation) == (False, 2)
    assert hidden.take(np.array([3, 4])).relation == hidden.relations_of(np.array([3, 4])) == 2
    edges = np.array([[2, 1], [0, 2]])
    assert hidden.hides(edges, np.zeros_like(edges)).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("relation", [None, -1])
def test_a_relation_that_is_not_there_hides_nothing(relation):
    assert HiddenEdges.of(relation).is_none


def test_rows_hide_relations_of_their_own_or_none():
    hidden = HiddenEdges(np.array([0, -1, 1]))
    assert hidden.take(np.array([2, 0])).relations.tolist() == [1, 0]
    edges = np.array([[0, 1], [0, 1], [0, 1]])
    assert hidden.hides(edges, edges).tolist() == [[True, False], [False, False], [False, True]]
    with pytest.raises(ValueError, match="found 3 rows"):
        _ = hidden.relation


def test_a_single_edge_can_be_hidden():
    hidden = HiddenEdges(np.array([0, 0]), np.array([5, 6]))
    others = np.array([[5, 6], [5, 6]])
    assert hidden.hides(np.zeros_like(others), others).tolist() == [[True, False], [False, True]]
    assert hidden.take(np.array([1, 0])).hides(np.zeros_like(others), others).tolist() == [[False, True], [True, False]]


def test_joined_parts_hide_from_each_row_what_its_part_hides():
    parts = [HiddenEdges.of(4), HiddenEdges.none()]
    assert HiddenEdges.join(parts, np.array([1, 0, 0])).relations.tolist() == [-1, 4, 4]
    assert HiddenEdges.join([HiddenEdges.none()], np.array([0, 0])).is_none
