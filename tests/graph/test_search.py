import contextlib
import string
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.errors import InputError
from tripleshot.graph import search as searching
from tripleshot.graph.search import MAX_CANDIDATES, NameIndex, Postings, similarity
from tripleshot.graph.trigrams import NUM_CODES, as_texts, normalise, trigrams
from tripleshot.graph.vocabulary import Vocabulary

NAMES = ["city/baku-az", "city/bakau-gm", "sea/caspian-sea", "city/sao-paulo-br", "airport/gyd", "#7", "city/paris-us"]
LABELS = {
    "city/baku-az": "Baku",
    "city/bakau-gm": "Bakau",
    "sea/caspian-sea": "Caspian Sea",
    "city/sao-paulo-br": "São Paulo",
    "airport/gyd": "Baku Heydar Aliyev",
    "city/paris-us": "Bakau",
}
PLACES = NameIndex.of(Vocabulary.of("entity", NAMES, LABELS))


def town_names(num_names: int) -> list[str]:
    """Make names of two to four syllables, all different."""
    random = np.random.default_rng(5)
    syllables = [onset + vowel for onset in ("b", "br", "d", "k", "l", "m", "n", "st", "v", "z") for vowel in "aeiou"]
    towns: dict[str, None] = {}
    while len(towns) < num_names:
        town = "".join(random.choice(syllables, random.integers(3, 5)))
        towns[town] = None
    return list(towns)


TOWNS = town_names(400)
TOWN_TRIGRAMS = [set(trigrams(normalise(as_texts(town)))[0].tolist()) for town in TOWNS]
TOWN_INDEX = NameIndex.of(Vocabulary.of("entity", TOWNS), np.arange(400) % 7)


def found(index: NameIndex, text: str, limit: int = 10) -> list[str]:
    return [match.name for match in index.search(text, limit)]


def test_beginnings_come_before_words_and_words_before_similar_texts():
    assert found(PLACES, "baku")[:3] == ["city/baku-az", "airport/gyd", "city/bakau-gm"]
    assert found(PLACES, "caspain")[0] == "sea/caspian-sea"
    assert found(PLACES, "aspia") == ["sea/caspian-sea"]


def test_case_accents_and_punctuation_are_ignored():
    assert found(PLACES, "SAO paulo")[0] == "city/sao-paulo-br"
    assert found(PLACES, "são, Paulo!")[0] == "city/sao-paulo-br"
    assert PLACES.search("SÃO PAULO")[0].similarity == 1.0


def test_a_match_says_what_to_show():
    match = PLACES.search("baku", limit=1)[0]
    assert (match.entity, match.name, match.label, match.similarity) == (0, "city/baku-az", "Baku", 1.0)


def test_what_resembles_nothing_finds_nothing():
    assert found(PLACES, "xqzw") == []


@pytest.mark.parametrize("text", ["", " ", "!!", "\x00", "\u0301"])
def test_a_text_without_letters_finds_nothing(text):
    assert PLACES.search(text) == []


def test_a_name_without_letters_is_found_as_it_stands():
    index = NameIndex.of(Vocabulary.of("entity", ["!!", "??", "a"]))
    assert found(index, "!!") == ["!!"]


def test_among_equally_similar_names_the_popular_one_comes_first():
    names = ["town a", "town b", "town c"]
    assert found(NameIndex.of(Vocabulary.of("entity", names), np.array([1, 9, 3])), "town") == [
        "town b",
        "town c",
        "town a",
    ]


def test_an_empty_vocabulary_finds_nothing():
    assert NameIndex.of(Vocabulary.of("entity", [])).search("baku") == []


def test_an_exact_name_comes_before_the_same_label():
    index = NameIndex.of(Vocabulary.of("entity", ["x", "Paris"], {"x": "Paris"}), np.array([9, 1]))
    assert found(index, "Paris") == ["Paris", "x"]


@pytest.mark.parametrize("text", [0, np.int32(0), "#0", "city/baku-az", "Baku"])
def test_ids_names_and_labels_are_resolved(text):
    assert PLACES.resolve(text) == 0


def test_zeros_before_an_id_change_nothing():
    assert PLACES.resolve("#5") == 5


def test_resolving_builds_no_index():
    index = NameIndex.of(PLACES.entities)
    index.resolve("Baku")
    index.resolve("city/baku-az")
    assert index.nbytes == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Bakau", "2 entities are labelled 'Bakau': say which by its name: city/bakau-gm, city/paris-us"),
        ("city/bakku-az", r"unknown entity 'city/bakku-az': did you mean city/baku-az"),
        ("xqzw", r"^unknown entity 'xqzw'$"),
        ("\ud800", "unknown entity"),
        (7, "unknown entity #7: ids go from 0 to 6"),
        (-1, "unknown entity #-1"),
        ("#7", "unknown entity #7"),
        ("#05", "unknown entity '#05': ids go from #0 to #6"),
        ("#00000000000000000005", "unknown entity '#00000000000000000005': ids go from #0 to #6"),
        ("#" + "0" * 30, "unknown entity"),
        ("#+5", r"unknown entity '#\+5'"),
        ("#" + "9" * 5000, "unknown entity"),
        ("#0" + "9" * 30, "unknown entity"),
        ("#" + "٠" * 20 + "٥", "unknown entity"),
        ("#²", "unknown entity '#²'"),
    ],
)
def test_what_names_no_single_entity_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        PLACES.resolve(text)


def test_threads_share_one_index():
    index, answers = NameIndex.of(TOWN_INDEX.entities), []
    threads = [threading.Thread(target=lambda: answers.append(found(index, TOWNS[3]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)
    TOWN_INDEX.search(TOWNS[3])
    assert index.nbytes == TOWN_INDEX.nbytes


anything = st.text(max_size=40)
letters = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(text=anything)
def test_any_text_can_be_searched(text):
    assert all(0 <= match.similarity <= 1 for match in PLACES.search(text))


@given(text=anything)
def test_any_text_is_resolved_or_refused(text):
    with contextlib.suppress(InputError):
        assert 0 <= PLACES.resolve(text) < len(NAMES)


@given(names=st.lists(letters, min_size=1, max_size=20, unique=True), data=st.data())
def test_an_exact_name_is_always_found_first(names, data):
    index = NameIndex.of(Vocabulary.of("entity", names), np.array(data.draw(st.permutations(range(len(names))))))
    name = data.draw(st.sampled_from(names))
    first = index.search(name)[0]
    assert (first.name, first.similarity) == (name, 1.0)


def test_an_exact_name_is_found_first_among_more_twins_than_are_compared():
    names = ["a" + "-" * number + "b" for number in range(1, MAX_CANDIDATES + 50)]
    index = NameIndex.of(Vocabulary.of("entity", names))
    assert found(index, names[-1])[0] == names[-1]


@given(
    town=st.sampled_from([town for town in TOWNS if len(town) >= 6]),
    kind=st.sampled_from(["substitution", "deletion", "insertion", "swap"]),
    letter=st.sampled_from(string.ascii_lowercase),
    data=st.data(),
)
def test_one_typo_still_finds_the_name_among_the_first_ten(town, kind, letter, data):
    place = data.draw(st.integers(0, len(town) - 2))
    start, end = town[:place], town[place + 1 :]
    mistyped = {
        "substitution": start + letter + end,
        "deletion": start + end,
        "insertion": start + letter + town[place:],
        "swap": start + end[0] + town[place] + end[1:],
    }[kind]
    assert town in found(TOWN_INDEX, mistyped)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(searching, "BLOCK_SIZE", 64)


@given(query=st.sampled_from(TOWNS).flatmap(lambda town: st.sampled_from([town, town[:4], town[2:], town[::-1], "o"])))
def test_the_index_agrees_with_comparing_every_name(query):
    agrees_with_comparing_every_name(TOWN_INDEX, query)


@pytest.mark.usefixtures("small_blocks")
def test_the_index_agrees_with_comparing_every_name_across_blocks():
    index = NameIndex.of(TOWN_INDEX.entities, TOWN_INDEX.weights)
    for query in TOWNS[::9]:
        agrees_with_comparing_every_name(index, query)
    assert 7 <= index.nbytes / NUM_CODES / 8 < 8  # blocks: a list of eight bytes for each trigram


def agrees_with_comparing_every_name(index: NameIndex, query: str) -> None:
    """The promise: if not too many names share three letters with the query, none of them is overlooked."""
    asked = set(trigrams(normalise(as_texts(query)))[0].tolist())
    sharing = [entity for entity, codes in enumerate(TOWN_TRIGRAMS) if asked & codes]
    entities, similarities = index.rank(query, np.array(sharing, dtype=np.int64), 10)
    if len(sharing) <= MAX_CANDIDATES:
        assert [(match.entity, match.similarity) for match in index.search(query)] == list(
            zip(entities.tolist(), similarities.tolist(), strict=True)
        )


@pytest.mark.usefixtures("small_blocks")
def test_common_trigrams_are_read_among_the_popular_alone(monkeypatch):
    monkeypatch.setattr(searching, "MAX_POSTINGS", 50)
    names = [f"town {number}" for number in range(400)]
    index = NameIndex.of(Vocabulary.of("entity", names), np.arange(400))
    assert found(index, "tow", limit=2) == ["town 399", "town 398"]
    assert found(index, "town 3")[0] == "town 3"


words = st.text("abc", max_size=6)


@given(query=words.filter(bool), texts=st.lists(words, min_size=1, max_size=5))
def test_similarity_counts_edits_as_the_plain_way_does(query, texts):
    plain = []
    for text in texts:
        parts = [text[i:j] for i in range(len(text) + 1) for j in range(i, len(text) + 1)]
        whole = 1 - plain_edits(query, text) / max(len(query), len(text))
        part = 1 - min(plain_edits(query, piece) for piece in parts) / len(query)
        plain.append((3 * part + whole) / 4)
    assert similarity(query, pa.array(texts, pa.large_string())).tolist() == pytest.approx(plain)


def plain_edits(first: str, second: str) -> int:
    costs = list(range(len(second) + 1))
    for number, letter in enumerate(first, start=1):
        row = [number]
        for place, other in enumerate(second):
            row.append(min(costs[place + 1] + 1, row[place] + 1, costs[place] + (letter != other)))
        costs = row
    return costs[-1]


@given(texts=st.lists(letters, max_size=8))
def test_postings_list_every_trigram_of_every_text_once(texts):
    entities = Vocabulary("entity", pa.array(texts, pa.large_string()))
    postings = Postings.of(entities, np.arange(len(texts)))
    listed = {
        (code, int(number))
        for code in np.flatnonzero(np.diff(postings.offsets))
        for number in postings.values[postings.offsets[code] : postings.offsets[code + 1]]
    }
    expected = {
        (int(code), number) for number, text in enumerate(texts) for code in trigrams(normalise(as_texts(text)))[0]
    }
    assert listed == expected
    assert len(postings.values) == len(expected)
