import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from tripleshot.errors import InputError
from tripleshot.graph.types import (
    EntityTypes,
    find_relation,
    find_types,
    read_type_mapping,
    types_from_mapping,
    types_from_names,
    types_from_relation,
    with_types_from_names,
)

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

NUM_ENTITIES = 7
PAIRS = st.lists(st.tuples(st.integers(0, NUM_ENTITIES - 1), st.sampled_from(["person", "city", "river"])), max_size=20)


def types_by_name(graph, types):
    return {
        graph.entities.name(i): [types.names[v] for v in types.values[types.offsets[i] : types.offsets[i + 1]]]
        for i in range(graph.num_entities)
    }


@given(pairs=PAIRS)
def test_types_agree_with_sets_both_ways(pairs):
    entities = np.array([entity for entity, _ in pairs], dtype=np.int32)
    types = EntityTypes.from_pairs(entities, [name for _, name in pairs], NUM_ENTITIES)
    assert make_graph([("a", "r", "b")]).with_types(types).types is types
    for entity in range(NUM_ENTITIES):
        found = {types.names[index] for index in types.of(np.array([entity]))}
        assert found == {name for other, name in pairs if other == entity}
    for index, name in enumerate(types.names):
        members = types.members(np.array([index])).tolist()
        assert members == sorted({entity for entity, other in pairs if other == name})


def test_types_of_several_entities_are_joined():
    types = EntityTypes.from_pairs(np.array([0, 1, 1, 2]), ["person", "city", "city", "river"], 4)
    assert [types.names[index] for index in types.of(np.array([0, 1, 3]))] == ["person", "city"]
    assert types.members(np.array([0, 2])).tolist() == [0, 2]
    assert types.members(np.array([], dtype=np.int64)).tolist() == []


def test_the_type_stands_in_the_name():
    graph = make_graph([("concept:city:paris", "r", "city:lyon"), ("person/ann", "r", "0-15")])
    assert types_by_name(graph, types_from_names(graph)) == {
        "concept:city:paris": ["city"],
        "city:lyon": ["city"],
        "person/ann": ["person"],
        "0-15": [],
    }


def test_names_without_any_prefix_are_refused():
    with pytest.raises(InputError, match="no entity name has a type prefix"):
        types_from_names(make_graph([("a", "r", "b")]))


@pytest.mark.parametrize("asked", [RDF_TYPE, "rdf:type", "type"])
def test_a_type_relation_is_found_by_name_or_by_the_end_of_its_iri(asked):
    graph = make_graph([("a", RDF_TYPE, "City"), ("a", RDF_TYPE, "Capital"), ("b", RDF_TYPE, "City"), ("a", "r", "b")])
    found = types_by_name(graph, types_from_relation(graph, asked))
    assert found == {"a": ["City", "Capital"], "b": ["City"], "City": [], "Capital": []}


def test_an_unknown_type_relation_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'P31'"):
        types_from_relation(make_graph([("a", "P31", "b")]), "P131")


@pytest.mark.parametrize("suffix", [".json", ".tsv"])
def test_a_mapping_file_gives_one_type_or_several(tmp_path, suffix):
    path = tmp_path / f"types{suffix}"
    path.write_text(
        json.dumps({"a": ["x", "y"], "b": "x", "gone": "z"}) if suffix == ".json" else "a\tx\na\ty\n\nb\tx\r\n"
    )
    graph = make_graph([("a", "r", "b"), ("c", "r", "b")])
    assert types_by_name(graph, types_from_mapping(graph, read_type_mapping(path))) == {
        "a": ["x", "y"],
        "b": ["x"],
        "c": [],
    }


def test_a_mapping_of_strangers_is_refused():
    with pytest.raises(InputError, match="none of the names"):
        types_from_mapping(make_graph([("a", "r", "b")]), {"z": "x"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", b'{"a": 1}', "t.json: the types of 'a' are neither"),
        ("t.json", b"[1]", "t.json: expected a JSON object"),
        ("t.json", b'{\n"a" "b"}', "t.json:2: not valid JSON"),
        ("t.tsv", b"a\tx\nb\n", "t.tsv:2: expected an entity name"),
        ("t.tsv", b"\xff\xfe", "t.tsv: cannot be read"),
    ],
)
def test_a_bad_mapping_file_is_named_with_its_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_type_mapping(path)


def test_new_entities_take_the_type_that_their_name_begins_with_if_there_is_one():
    graph = make_graph([("city/a", "r", "country/b"), ("c", "r", "c")], {"city/a": "city", "country/b": "country"})
    more = graph.with_triples([("city/x", "r", "planet/y"), ("country/z", "r", "c")])
    typed = types_by_name(more, with_types_from_names(more, graph.num_entities).types)
    assert typed == {
        **types_by_name(graph, graph.types),
        "city/x": ["city"],
        "country/z": ["country"],
        "planet/y": [],
    }
    assert with_types_from_names(more.with_types(None), 3).types is None


def test_types_of_a_type_relation_are_found_unasked():
    graph = make_graph([("a", RDF_TYPE, "city"), ("b", RDF_TYPE, "river"), ("a", "lies on", "b")])
    types = find_types(graph)
    assert types_by_name(graph, types) == {"a": ["city"], "b": ["river"], "city": [], "river": []}


def test_types_in_all_names_are_found_unasked():
    graph = make_graph([(f"city/{i}", "on", f"river/{i}") for i in range(5)])
    types = find_types(graph)
    assert types is not None
    assert types.names == ("city", "river")


@pytest.mark.parametrize(
    "pattern", ["place {}", "http://example.org/{}", "ex:{}", "{0}/{0}", "city/{}"], ids=lambda name: name
)
def test_what_names_begin_with_is_not_always_a_type(pattern):
    triples = [(pattern.format(i), "near", pattern.format(i + 1)) for i in range(20)]
    assert find_types(make_graph([*triples, ("Atlantis", "near", pattern.format(0))])) is None
    assert find_types(make_graph(triples)) is None


@pytest.mark.parametrize(
    ("asked", "found"),
    [("on", 0), ("lies on", 0), ("http://example.org/r#in", 1), ("in", 1), ("ex:in", 1), ("i.", None), ("(", None)],
)
def test_a_relation_is_found_by_name_by_label_or_by_the_end_of_its_iri(asked, found):
    graph = make_graph([("a", "on", "b"), ("a", "http://example.org/r#in", "b"), ("a", "near", "b")])
    assert find_relation(graph.with_labels(relations={"on": "lies on"}).relations, asked) == found
