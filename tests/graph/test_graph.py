import pytest

from tripleshot import graph


def test_the_main_names_stand_in_the_package_itself():
    assert [getattr(graph, name).__name__ for name in graph.__all__] == graph.__all__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Graph'"):
        _ = graph.Graph
