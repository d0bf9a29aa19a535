import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.errors import InputError
from tripleshot.graph.vocabulary import Vocabulary

CITIES = Vocabulary.of("entity", ["city:paris", "city:london", "city:rome"], {"city:rome": "Rome", "city:oslo": "Oslo"})


def test_names_and_ids_are_positions():
    assert len(CITIES) == 3
    assert CITIES.name(1) == "city:london"
    assert CITIES.id("city:london") == 1
    assert "city:rome" in CITIES
    assert "city:oslo" not in CITIES


def test_an_unknown_name_is_refused_with_the_nearest_known_one():
    with pytest.raises(InputError, match=r"unknown entity 'city:pariss'; did you mean 'city:paris'\?"):
        CITIES.id("city:pariss")
    with pytest.raises(InputError, match=r"unknown entity 'City:London '; did you mean 'city:london'\?"):
        CITIES.id("City:London ")
    with pytest.raises(InputError, match=r"^unknown entity 'zzz'$"):
        CITIES.id("zzz")


def test_many_names_are_found_at_once_and_unknown_ones_marked():
    found = CITIES.find(["city:rome", "city:oslo", "city:paris"])
    assert found.tolist() == [2, -1, 0]
    assert found.dtype == np.int32
    assert CITIES.find(pa.array(["city:rome"], pa.large_string())).tolist() == [2]


def test_names_take_the_rows_that_a_table_of_other_ids_has_for_them():
    now = Vocabulary.of("entity", ["city:rome", "city:oslo", "city:paris"])
    assert CITIES.align(now, unknown=3).tolist() == [2, 3, 0]
    assert CITIES.align(now, unknown=1, first=-3).tolist() == [-1, 1, -3]
    assert CITIES.align(now, unknown=0).dtype == np.int64


def test_ids_of_many_names_refuse_the_first_unknown_one():
    assert CITIES.ids(name for name in ("city:rome", "city:rome")).tolist() == [2, 2]
    assert CITIES.ids([]).tolist() == []
    with pytest.raises(InputError, match="unknown entity 'city:oslo'"):
        CITIES.ids(["city:rome", "city:oslo", "city:bern"])


def test_labels_are_shown_where_there_are_some():
    assert [CITIES.label(index) for index in range(3)] == ["city:paris", "city:london", "Rome"]
    assert CITIES.has_labels
    assert not Vocabulary.of("entity", ["a"]).has_labels
    assert not Vocabulary.of("entity", ["a"], {"b": "B"}).has_labels


def test_a_vocabulary_cannot_be_changed():
    with pytest.raises(AttributeError):
        CITIES.kind = "relation"  # type: ignore[misc]
    CITIES.with_labels({"city:paris": "Paris"})
    assert CITIES.label(0) == "city:paris"


@given(names=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True))
def test_every_name_finds_its_own_id(names):
    vocabulary = Vocabulary.of("relation", names)
    assert vocabulary.find(names).tolist() == list(range(len(names)))
    assert [vocabulary.id(name) for name in names] == list(range(len(names)))
    assert [vocabulary.name(index) for index in range(len(names))] == names


def test_more_labels_leave_the_others_as_they_are():
    names = Vocabulary.of("relation", ["on", "in", "near"])
    assert names.with_more_labels({"in": "lies in", "of": "nothing here"}).label(1) == "lies in"
    labeled = names.with_labels({"on": "lies on"}).with_more_labels({"in": "lies in"})
    assert [labeled.label(i) for i in range(3)] == ["lies on", "lies in", "near"]


def test_an_iri_without_a_label_is_labeled_with_its_last_part():
    names = ["http://example.org/Baku", "https://example.org/a#Riga", "urn:isbn:12", "http://example.org/x/", "plain"]
    found = Vocabulary.of("entity", names).with_labels({names[0]: "Bakı"}).with_iri_labels()
    assert [found.label(i) for i in range(5)] == ["Bakı", "Riga", "12", "x", "plain"]
    plain = Vocabulary.of("entity", ["plain", "city:baku"])
    assert plain.with_iri_labels() is plain
