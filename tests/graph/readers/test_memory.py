import numpy as np
import pytest

from graph_names import named
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph

TRIPLES = [("a", "r", "b"), ("b", "s", "c")]


class TriplesFactory:
    """What the reader uses of PyKEEN's class of this name."""

    def __init__(self, triples, entities, relations):
        self.mapped_triples = np.array(triples, dtype=np.int64).reshape(-1, 3)
        self.entity_id_to_label = entities
        self.relation_id_to_label = relations


@pytest.mark.parametrize("source", [TRIPLES, tuple(TRIPLES), map(list, TRIPLES), iter(TRIPLES), np.array(TRIPLES)])
def test_any_iterable_of_three_strings_is_read(source):
    assert named(read_graph(source)) == TRIPLES


def test_batches_do_not_show(monkeypatch):
    monkeypatch.setattr("tripleshot.graph.readers.memory.BATCH", 3)
    triples = [(f"e{i % 7}", f"r{i % 3}", f"e{i}") for i in range(20)]
    assert named(read_graph(triples)) == triples


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "iterable: expected triples, found none"),
        ([("a", "r")], "iterable: triple 1: expected head, relation and tail as strings, found ('a', 'r')"),
        ([*TRIPLES, ("a", 1, "b")], "iterable: triple 3: expected head, relation and tail as strings, found ('a', 1"),
        (["abc"], "iterable: triple 1: expected head, relation and tail as strings, found 'abc'"),
        ([*TRIPLES, ("a", "", "b")], "iterable: triple 3: expected three names, found an empty one"),
        ([("a", "r", "\ud800")], "iterable: expected Unicode text, found '\\ud800'"),
        (3, "cannot read triples from int; expected a path, a data frame"),
        (b"graph.tsv", "cannot read triples from bytes; expected a path, a data frame"),
        (None, "cannot read triples from NoneType; expected a path, a data frame"),
    ],
)
def test_what_is_not_triples_is_refused(source, message):
    with pytest.raises(InputError) as caught:
        read_graph(source)
    assert str(caught.value).startswith(message)


def test_duplicates_in_an_iterable_are_counted():
    with pytest.warns(InputWarning, match="iterable: triple 3: duplicate triple skipped"):
        assert named(read_graph([*TRIPLES, TRIPLES[0]])) == TRIPLES


def test_a_pykeen_factory_keeps_its_ids():
    factory = TriplesFactory([(2, 1, 0), (0, 0, 2)], {0: "x", 1: "unused", 2: "z"}, {0: "r", 1: "s"})
    graph = read_graph(factory)
    assert named(graph) == [("z", "s", "x"), ("x", "r", "z")]
    assert graph.entities.names.to_pylist() == ["x", "unused", "z"]
    assert graph.relations.names.to_pylist() == ["r", "s"]
    assert graph.head_ids.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("triples", "entities", "message"),
    [
        ([], {0: "x"}, "TriplesFactory: expected triples, found none"),
        ([(0, 0, 0)], {1: "x"}, "TriplesFactory: expected a name for every id, found none for 0"),
        ([(0, 0, 1)], {0: "x"}, r"TriplesFactory: triple 1: expected ids that have names, found \[0, 0, 1\]"),
        ([(0, 0, 0)], {}, "TriplesFactory: expected a name for every id, found none for 0"),
        ([(0, 0, 0)], {0: ""}, "TriplesFactory: triple 1: expected three names, found an empty one"),
    ],
)
def test_a_factory_that_does_not_name_its_ids_is_refused(triples, entities, message):
    with pytest.raises(InputError, match=message):
        read_graph(TriplesFactory(triples, entities, {0: "r"}))


def test_duplicates_in_a_factory_are_counted():
    factory = TriplesFactory([(0, 0, 0), (0, 0, 0)], {0: "x"}, {0: "r"})
    with pytest.warns(InputWarning, match="TriplesFactory: triple 2: duplicate triple skipped"):
        assert read_graph(factory).num_triples == 1
