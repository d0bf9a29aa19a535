"""Names found by hash are those that comparing every name finds."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import everything_on_disk
from tripleshot.errors import InputError
from tripleshot.graph import name_lookup
from tripleshot.graph.index_files import collect, list_indexes
from tripleshot.graph.name_lookup import NameLookup, hash_bytes, hash_texts, lookup_blocks
from tripleshot.graph.search import NameIndex
from tripleshot.graph.trigrams import NameTrigrams
from tripleshot.graph.vocabulary import Vocabulary, hash_vocabulary

TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "b", "ab", "ba", "aa", "ä", "東京", "a\0"]), max_size=20)
ASKED = st.lists(st.sampled_from(["", "a", "b", "ab", "ba", "aa", "ä", "東京", "a\0", "other", "\ud800"]), max_size=8)


EXPECTED = [15082351476449861831, 0, 8944658402154487655]  # of Baku, of nothing and of 東京


def large(texts):
    return pa.array(texts, type=pa.large_string())


def lookup_of(texts):
    return NameLookup(texts, **collect(lookup_blocks(texts)))


def compare_all(texts, asked):
    return [(owner, place) for owner, text in enumerate(asked) for place, one in enumerate(texts) if one == text]


@given(TEXTS, ASKED, st.integers(0, 3))
def test_what_is_found_is_what_comparing_everything_finds(texts, asked, skipped):
    found = lookup_of(large(texts)[skipped:]).find(asked)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == compare_all(texts[skipped:], asked)


@given(TEXTS, ASKED)
def test_texts_of_the_same_hash_are_told_apart(texts, asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_lookup, "hash_bytes", lambda content, offsets: np.zeros(len(offsets) - 1, dtype=np.uint64))
        found = lookup_of(large(texts)).find(asked)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == compare_all(texts, asked)


def test_hashes_depend_on_the_text_alone():
    assert hash_texts(large(["Baku", "", "東京"])).tolist() == EXPECTED
    assert hash_texts(large(["x", "Baku", "", "東京"])[1:]).tolist() == EXPECTED
    assert hash_bytes(np.frombuffer(b"Baku", dtype=np.uint8), np.array([0, 4])).tolist() == EXPECTED[:1]


def test_many_similar_names_have_different_hashes():
    names = [f"Q{number}" for number in range(200_000)]
    assert len(np.unique(hash_texts(large(names)))) == len(names)


def indexed(vocabulary):
    return Vocabulary(vocabulary.kind, vocabulary.names, vocabulary.labels, hash_vocabulary(vocabulary))


NAMES = [f"city {number}" for number in range(200)]
PLAIN = Vocabulary.of("entity", NAMES, {"city 3": "Baku", "city 5": "Baku", "city 7": "city 9"})


def test_a_vocabulary_on_disk_answers_like_one_in_memory():
    asked = ["city 7", "city 900", "city 0"]
    with everything_on_disk():
        kept = indexed(PLAIN)
        assert kept.find(asked).tolist() == PLAIN.find(asked).tolist() == [7, -1, 0]
        assert kept.find(large(asked)).tolist() == kept.find(pa.chunked_array([large(asked)])).tolist() == [7, -1, 0]
        assert kept.find(NAMES).tolist() == list(range(200))
        assert kept.id("city 8") == PLAIN.id("city 8") == 8
        assert "city 8" in kept
        assert "Baku" not in kept
        for text in ("Baku", "city 9", "city 7", "nowhere"):
            assert kept.exact(text).tolist() == PLAIN.exact(text).tolist()
        with pytest.raises(InputError, match="unknown entity 'city 8z'; did you mean 'city 8'"):
            kept.id("city 8z")
        assert kept.with_names(large(["city 4", "new"])).names[-1].as_py() == "new"


def test_a_name_is_resolved_without_building_what_search_needs():
    with everything_on_disk():
        index = NameIndex.of(indexed(PLAIN), np.arange(200))
        assert index.resolve("city 12") == 12
        assert [found.path.name for found in list_indexes()] == ["names_lookup"]
        assert index.nbytes == 0


def test_search_and_trigrams_from_disk_are_those_in_memory():
    weights = np.arange(200) % 7
    expected, trigrams = NameIndex.of(PLAIN, weights).search("cty 1"), NameTrigrams.of(PLAIN)
    with everything_on_disk():
        for _ in ("built", "opened"):
            assert NameIndex.of(indexed(PLAIN), weights).search("cty 1") == expected
            kept = NameTrigrams.of(indexed(PLAIN))
            assert kept.codes.tolist() == trigrams.codes.tolist()
            assert kept.offsets.tolist() == trigrams.offsets.tolist()
        assert NameIndex.of(indexed(PLAIN), -weights).search("city", 1) != expected[:1]
        assert len(list_indexes()) == 3


def test_the_hash_of_a_vocabulary_tells_names_and_labels_apart():
    vocabularies = [
        Vocabulary.of("entity", ["a", "b"]),
        Vocabulary.of("entity", ["ab", ""]),
        Vocabulary.of("entity", ["a", "b"], {"a": "b"}),
        Vocabulary.of("entity", ["a", "b"], {"b": "b"}),
        Vocabulary.of("entity", ["a", "b"], {"a": "", "b": "b"}),
    ]
    assert len({hash_vocabulary(vocabulary) for vocabulary in vocabularies}) == len(vocabularies)
