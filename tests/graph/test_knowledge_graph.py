import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_names import named
from graphs import make_graph
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary

# The last entities and relations are never used: rows without edges are where offsets go wrong.
NUM_ENTITIES, NUM_RELATIONS = 7, 4
TRIPLES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=25, unique=True)


def make(triples):
    heads, relations, tails = np.array(triples, dtype=np.int32).reshape(-1, 3).T
    entities = Vocabulary.of("entity", [f"e{index}" for index in range(NUM_ENTITIES)])
    kinds = Vocabulary.of("relation", [f"r{index}" for index in range(NUM_RELATIONS)])
    return KnowledgeGraph(entities, kinds, heads, relations, tails)


@given(triples=TRIPLES)
def test_edges_and_inverses_stand_in_file_order(triples):
    expected = {entity: [] for entity in range(NUM_ENTITIES)}
    for head, relation, tail in triples:
        expected[head].append((relation, tail))
        expected[tail].append((relation + NUM_RELATIONS, head))
    graph = make(triples)
    for entity, edges in expected.items():
        relations, neighbors = graph.adjacency.edges(entity)
        assert list(zip(relations.tolist(), neighbors.tolist(), strict=True)) == edges
    assert graph.degrees.tolist() == [len(edges) for edges in expected.values()]


@given(triples=TRIPLES)
def test_neighbors_are_counted_once_in_either_direction(triples):
    neighbors = [set() for _ in range(NUM_ENTITIES)]
    for head, _, tail in triples:
        neighbors[head].add(tail)
        neighbors[tail].add(head)
    assert make(triples).num_neighbors.tolist() == [len(found) for found in neighbors]


@given(triples=TRIPLES)
def test_pairs_and_relations_are_counted(triples):
    graph = make(triples)
    assert graph.pair_keys().tolist() == [head * NUM_ENTITIES + tail for head, _, tail in triples]
    assert graph.pair_keys(inverse=True).tolist() == [tail * NUM_ENTITIES + head for head, _, tail in triples]
    counts = [sum(relation == index for _, relation, _ in triples) for index in range(NUM_RELATIONS)]
    assert graph.relation_counts().tolist() == counts


@given(triples=TRIPLES, dropped=st.sets(st.integers(0, NUM_RELATIONS - 1)))
def test_dropped_relations_take_their_triples_along_and_leave_the_entities(triples, dropped):
    graph = make(triples).with_labels(relations={"r1": "one", "r3": "three"})
    smaller = graph.without_relations(np.array(sorted(dropped), dtype=np.int64))
    assert named(smaller) == [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples if r not in dropped]
    assert smaller.num_entities == NUM_ENTITIES
    kept = [index for index in range(NUM_RELATIONS) if index not in dropped]
    labels = ["r0", "one", "r2", "three"]
    assert [smaller.relation_label(index) for index in range(len(kept))] == [labels[index] for index in kept]


def test_ids_are_small_and_cannot_be_written():
    graph = make([(0, 1, 2)])
    for array in (graph.head_ids, graph.relation_ids, graph.tail_ids):
        assert array.dtype == np.int32
    adjacency = graph.adjacency
    derived = (adjacency.offsets, adjacency.relations, adjacency.entities, graph.degrees, graph.num_neighbors)
    for array in (graph.head_ids, graph.relation_ids, graph.tail_ids, *derived):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.types = None  # type: ignore[misc]


def test_a_graph_says_its_size():
    assert repr(make([(0, 1, 2)])) == "KnowledgeGraph(7 entities, 4 relations, 1 triples)"


def test_inverse_relations_have_a_label_of_their_own():
    graph = make([(0, 1, 2)]).with_labels({"e0": "zero"}, {"r1": "one"})
    assert graph.relation_label(1) == "one"
    assert graph.relation_label(1 + NUM_RELATIONS) == "one_inv"
    assert graph.entities.label(0) == "zero"


def test_the_inverse_of_an_inverse_is_the_relation_itself():
    graph = make([])
    relations = np.arange(2 * NUM_RELATIONS, dtype=np.int32)
    assert graph.inverse(graph.inverse(relations)).tolist() == relations.tolist()
    assert graph.is_inverse(relations).tolist() == [False] * NUM_RELATIONS + [True] * NUM_RELATIONS
    assert graph.base(relations).tolist() == 2 * list(range(NUM_RELATIONS))
    assert graph.inverse(relations).dtype == graph.base(relations).dtype == np.int32
    assert [(graph.inverse(one), graph.is_inverse(one), graph.base(one)) for one in (1, 5)] == [
        (5, False, 1),
        (1, True, 1),
    ]


def test_a_graph_without_relations_has_no_inverses():
    nothing = np.empty(0, dtype=np.int32)
    graph = KnowledgeGraph(Vocabulary.of("entity", []), Vocabulary.of("relation", []), nothing, nothing, nothing)
    assert graph.inverse(nothing).tolist() == graph.base(nothing).tolist() == graph.is_inverse(nothing).tolist() == []


def test_more_triples_leave_ids_as_they_are():
    graph = make_graph([("a", "r", "b"), ("b", "s", "c")], {"a": "x", "b": "y"})
    more = graph.with_triples([("d", "r", "a"), ("a", "t", "e"), ("a", "r", "b"), ("d", "r", "a"), ("b", "r", "a")])
    assert more.entities.names.to_pylist() == ["a", "b", "c", "d", "e"]
    assert more.relations.names.to_pylist() == ["r", "s", "t"]
    assert named(more) == [*named(graph), ("d", "r", "a"), ("a", "t", "e"), ("b", "r", "a")]
    assert graph.types is not None
    assert more.types is not None
    assert more.types.of(np.array([0])).tolist() == graph.types.of(np.array([0])).tolist()
    assert more.types.of(np.array([3, 4])).tolist() == []
    assert more.degrees.tolist() == [4, 3, 1, 1, 1]
    assert named(graph.with_triples([])) == named(graph)


def test_labels_stay_when_triples_are_added():
    graph = make_graph([("a", "r", "b")]).with_labels({"a": "Alpha"})
    more = graph.with_triples([("z", "r", "a")])
    assert [more.entities.label(index) for index in range(3)] == ["Alpha", "b", "z"]


@pytest.mark.parametrize("triples", [[("a", "b")], [("a", "b", 3)], [("a", "b", " ")], ["ab"]])
def test_what_is_no_triple_is_not_added(triples):
    with pytest.raises(InputError, match="expected triples"):
        make_graph([("a", "r", "b")]).with_triples(triples)


def test_the_pairs_of_a_relation_are_in_file_order():
    graph = make_graph([("a", "r", "b"), ("b", "s", "a"), ("c", "r", "a")])
    names = [[graph.entities.name(entity) for entity in pair] for pair in graph.pairs_of(0).tolist()]
    assert names == [["a", "b"], ["c", "a"]]


def test_a_graph_that_keeps_no_index_keeps_none_without_a_relation():
    graph = make_graph([("a", "r", "b"), ("b", "s", "a")])
    assert graph.without_relations(np.array([0])).keeps_indexes
    assert not graph.with_triples([("c", "r", "a")]).without_relations(np.array([0])).keeps_indexes
