import numpy as np
import pyarrow as pa
import pytest

from tripleshot.graph.trigrams import (
    NUM_CODES,
    NameTrigrams,
    as_texts,
    code_points,
    names_and_labels,
    normalise,
    trigrams,
)
from tripleshot.graph.vocabulary import Vocabulary

TOWNS = Vocabulary.of("entity", ["New York", "York", "England", "Ö"])


def codes(texts, index):
    return texts.codes[texts.offsets[index] : texts.offsets[index + 1]].tolist()


def test_case_accents_and_punctuation_are_left_out():
    assert normalise(pa.array(["São, Paulo!", "  A--b ", None], pa.large_string())).to_pylist() == [
        "sao paulo",
        "a b",
        "",
    ]


def test_letters_of_texts_stand_end_to_end():
    letters, lengths = code_points(pa.array(["ab", "", "ö"], pa.large_string()))
    assert ([chr(letter) for letter in letters], lengths.tolist()) == (["a", "b", "ö"], [2, 0, 1])


def test_what_utf_8_cannot_say_becomes_a_question_mark():
    assert as_texts("a\ud800").to_pylist() == ["a?"]


def test_a_name_and_its_label_count_as_one_text():
    named = Vocabulary.of("entity", ["q1", "q2"], {"q1": "york"})
    both, apart = trigrams(*map(normalise, names_and_labels(named))), trigrams(named.names)
    assert set(apart[0][apart[1] == 0]) < set(both[0][both[1] == 0])
    assert set(trigrams(as_texts("york"))[0]) <= set(both[0][both[1] == 0])


def test_trigrams_are_hashed_to_two_bytes():
    found, _ = trigrams(normalise(TOWNS.names))
    assert found.dtype == np.uint16
    assert found.max() < NUM_CODES


def test_each_name_has_its_trigrams_once():
    texts = NameTrigrams.of(TOWNS)
    found, owners = trigrams(normalise(TOWNS.names))
    for index in range(len(TOWNS)):
        assert codes(texts, index) == np.unique(found[owners == index]).tolist()


def test_names_are_alike_by_their_common_trigrams():
    texts = NameTrigrams.of(Vocabulary.of("entity", ["new york", "york", "kent", "york county"]))
    pairs = [(0, 1), (1, 1), (1, 3), (2, 1)]
    expected = []
    for first, second in pairs:
        sets = [set(codes(texts, index)) for index in (first, second)]
        expected.append(2 * len(sets[0] & sets[1]) / (len(sets[0]) + len(sets[1])))
    assert texts.similarity(*np.array(pairs).T).tolist() == pytest.approx(expected)
    assert expected[1] == 1
