"""Entities by what people type: names, labels and ids, with small typos forgiven.

Texts are compared by their trigrams first. Millions of names are kept as blocks of posting lists, two bytes for each
trigram of a name, numbered from the most popular entity to the least: the beginning of any list is what most people
mean. A few hundred candidates are then compared letter by letter. Nothing is built before the first search.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot import arrays
from tripleshot.arrays import IntArray, hash_arrays, is_integer
from tripleshot.errors import InputError
from tripleshot.graph.index_files import Columns, collect
from tripleshot.graph.trigrams import (
    BLOCK_SIZE,
    NUM_CODES,
    Texts,
    as_texts,
    code_points,
    names_and_labels,
    normalise,
    representable,
    trigrams,
)
from tripleshot.graph.vocabulary import Vocabulary

MIN_SIMILARITY = 0.5  # of an answer that is neither equal to nor part of a name
MAX_POSTINGS = 200_000  # read for one search
ID = re.compile(r"#(0|[1-9][0-9]{0,17})")  # an entity is written in one way; more digits are no id of any graph
MAX_CANDIDATES = 300  # compared letter by letter
NAME, LABEL, EQUAL, PREFIX, WORD, PART, SIMILAR = range(7)  # how a text matches, the best first


@dataclass(frozen=True)
class Match:
    """An entity that was found.

    Attributes:
        entity: its id.
        name: its name.
        label: what to show a person.
        similarity: from 0 to 1, which is an exact match.
    """

    entity: int
    name: str
    label: str
    similarity: float


@dataclass(frozen=True, eq=False)
class Postings:
    """Which entities have a trigram: a row for each trigram of each block of `BLOCK_SIZE` entities.

    Attributes:
        offsets: shape (num_blocks * NUM_CODES + 1,), where each row starts and ends in `values`.
        values: numbers of entities within their block, in order.
    """

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, entities: Vocabulary, order: IntArray) -> "Postings":
        """Index the names and labels of all entities, numbered in this order."""
        return cls(**collect(posting_blocks(entities, order)))

    def candidates(self, codes: npt.NDArray[np.uint16]) -> tuple[IntArray, bool]:
        """Return the entities that share most of these trigrams, and whether one that has all could be missing.

        The rarest trigrams are read first, as many as `MAX_POSTINGS` allow. When even the rarest is too common, all
        are read, but only in the blocks of the most popular entities.
        """
        blocks = np.arange(len(self.offsets) // NUM_CODES)
        rows = blocks[:, None] * NUM_CODES + codes
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        rarest = np.argsort(lengths.sum(axis=0), kind="stable")
        num_whole = _fitting(lengths.sum(axis=0)[rarest])
        rows = rows[:, rarest[:num_whole]] if num_whole else rows[: max(1, _fitting(lengths.sum(axis=1)))]
        positions, owners = arrays.expand(self.offsets, rows.ravel())
        numbers = self.values[positions] + (owners // rows.shape[1] * BLOCK_SIZE).astype(np.int32)
        numbers, counts = np.unique(numbers, return_counts=True)
        best = np.argsort(-counts.astype(np.int16), kind="stable")[:MAX_CANDIDATES]
        return numbers[best], not num_whole or int((counts == num_whole).sum()) > MAX_CANDIDATES


def posting_blocks(entities: Vocabulary, order: IntArray) -> Iterator[Columns]:
    """Index the names and labels of all entities, numbered in this order: the columns of `Postings`."""
    yield {"offsets": np.zeros(1, dtype=np.int64), "values": np.zeros(0, dtype=np.uint16)}
    num_values = 0
    for first in range(0, len(order), BLOCK_SIZE):
        chosen = pa.array(order[first : first + BLOCK_SIZE])
        codes, owners = trigrams(*(normalise(column.take(chosen)) for column in names_and_labels(entities)))
        by_code = np.argsort(codes, kind="stable")
        codes, owners = codes[by_code], owners[by_code]
        is_new = np.ones(len(codes), dtype=bool)
        is_new[1:] = (codes[1:] != codes[:-1]) | (owners[1:] != owners[:-1])
        ends = np.cumsum(np.bincount(codes[is_new], minlength=NUM_CODES))
        yield {"offsets": ends + num_values, "values": owners[is_new]}
        num_values += int(ends[-1])


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Finds entities by name, label or id; safe to use from several threads.

    Attributes:
        entities: what they are called.
        weights: shape (n,), how popular each entity is, or None if all are alike; breaks ties.
    """

    entities: Vocabulary
    weights: IntArray | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)
    _built: list[tuple[IntArray, Postings]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, entities: Vocabulary, weights: IntArray | None = None) -> "NameIndex":
        """Make an index; the work is done by the first search."""
        return cls(entities, weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the index; 0 before the first search."""
        return sum(order.nbytes + postings.offsets.nbytes + postings.values.nbytes for order, postings in self._built)

    def search(self, text: str, limit: int = 10) -> list[Match]:
        """Find entities by part of a name or label, the best first.

        Case, accents and punctuation are ignored. Equal texts come first, then those that begin with what was typed,
        those with a word that does, those that contain it, then similar ones; ties go to the more similar, then to
        the more popular entity. What shares no three letters in a row with the query is not found; one or two
        letters find beginnings.
        """
        query = normalise(as_texts(text))
        found = self._candidates(text, query) if query[0].as_py() else self._exact(text)
        return [
            Match(int(entity), self.entities.name(entity), self.entities.label(entity), float(similarity))
            for entity, similarity in zip(*self.rank(text, found, limit), strict=True)
        ]

    def rank(self, text: str, found: IntArray, limit: int) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Order these entities by how well they match; return the best with their similarities."""
        kinds, similarities = np.full(len(found), SIMILAR), np.zeros(len(found))
        called = [column.take(pa.array(found)) for column in names_and_labels(self.entities)]
        normalised = normalise(
            pa.concat_arrays([*called, as_texts(text)])
        )  # in one call: the patterns are compiled once
        query = normalised[-1].as_py()
        for exact, texts in enumerate(called):
            plain = normalised.slice(exact * len(found), len(found))
            kinds = np.minimum(kinds, np.where(equal(texts, text), NAME + exact, _kinds(query, plain.to_pylist())))
            similarities = np.maximum(similarities, similarity(query, plain))
        similarities[kinds <= LABEL] = 1.0
        weights = np.zeros(len(found)) if self.weights is None else self.weights[found]
        best = np.lexsort([found, -weights, -similarities, kinds])
        best = best[(kinds < SIMILAR)[best] | (similarities >= MIN_SIMILARITY)[best]][:limit]
        return found[best], similarities[best]

    def resolve(self, text: str | int | np.integer) -> int:
        """Return the one entity that is meant by an id (12 or "#12"), an exact name or an exact label."""
        if not isinstance(text, str):
            if not is_integer(text):
                raise InputError(f"expected a name or an id, found {text!r:.80}")
            return self._checked(int(text))
        if found := ID.fullmatch(text):
            return self._checked(int(found[1]))
        exact = self._exact(text)
        if len(exact) == 1:
            return int(exact[0])
        if len(exact):
            names = ", ".join(self.entities.name(entity) for entity in exact[:5])
            raise InputError(f"{len(exact)} entities are labelled {text!r}: say which by its name: {names}")
        if text.startswith("#") and text[1:].isdecimal():
            raise InputError(f"unknown {self.entities.kind} {text!r}: ids go from #0 to #{len(self.entities) - 1}")
        near = ", ".join(match.name for match in self.search(text, limit=3))
        raise InputError(f"unknown {self.entities.kind} {text!r}" + (f": did you mean {near}?" if near else ""))

    def _checked(self, entity: int) -> int:
        if not 0 <= entity < len(self.entities):
            raise unknown_id(self.entities, entity)
        return entity

    def _candidates(self, text: str, query: Texts) -> IntArray:
        with self._lock:
            if not self._built:
                key = "search" if self.weights is None else f"search_{hash_arrays(self.weights)[:16]}"
                columns = self.entities.index(key, self._blocks)
                self._built.append((columns["order"], Postings(columns["offsets"], columns["values"])))
        order, postings = self._built[0]
        codes, _ = trigrams(query)
        numbers, is_incomplete = postings.candidates(np.unique(codes))
        found = order[numbers]
        return np.union1d(found, self._exact(text)[:MAX_CANDIDATES]) if is_incomplete else found

    def _blocks(self) -> Iterator[Columns]:
        order = np.arange(len(self.entities), dtype=np.int32)
        order = order if self.weights is None else np.argsort(-self.weights, kind="stable").astype(np.int32)
        yield {"order": order}
        yield from posting_blocks(self.entities, order)

    def _exact(self, text: str) -> IntArray:
        """Return the entity that has this very name, or else those that have this very label."""
        return self.entities.exact(representable(text))


def unknown_id(entities: Vocabulary, number: int) -> InputError:
    """Return an error about an id that no entity has."""
    return InputError(f"unknown {entities.kind} #{number}: ids go from 0 to {len(entities) - 1}")


def equal(texts: Texts, text: str) -> npt.NDArray[np.bool_]:
    """Say of each text whether it is this one, to the letter."""
    return pc.fill_null(pc.equal(texts, as_texts(text)[0]), False).to_numpy(zero_copy_only=False)


def similarity(query: str, texts: Texts) -> npt.NDArray[np.float64]:
    """Compare letter by letter: 1 for equal texts; finding the query in a text counts three times the rest of it."""
    letters, lengths = code_points(texts)
    table = np.zeros((len(lengths), int(lengths.max(initial=0))), dtype=np.uint32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = letters
    whole = 1 - edits(query, table, lengths) / np.maximum(np.maximum(lengths, len(query)), 1)
    part = 1 - edits(query, table, lengths, is_part=True) / max(len(query), 1)
    return (3 * part + whole) / 4


def edits(query: str, table: npt.NDArray[np.uint32], lengths: IntArray, is_part: bool = False) -> IntArray:
    """Count the letters to change, add or leave out between a query and every text, or the nearest part of it.

    Args:
        query: what to compare with.
        table: shape (n, longest), letters of the texts.
        lengths: shape (n,), of the texts.
        is_part: whether letters of the text before and after the match are free.
    """
    places = np.arange(table.shape[1] + 1, dtype=np.int16)
    costs = np.tile(places * (not is_part), (len(table), 1)).astype(np.int16)
    for number, letter in enumerate(query, start=1):
        costs[:, 1:] = np.minimum(costs[:, 1:] + 1, costs[:, :-1] + (table != ord(letter)))
        costs[:, 0] = number
        costs = np.minimum.accumulate(costs - places, axis=1) + places  # letters of the text left out
    if is_part:
        return np.where(places <= lengths[:, None], costs, len(query)).min(axis=1)
    return costs[np.arange(len(table)), lengths]


def _kinds(query: str, texts: list[str]) -> IntArray:
    """Say how each text matches a query that is not empty."""
    tests = ((EQUAL, str.__eq__), (PREFIX, str.startswith), (WORD, _has_word), (PART, str.__contains__))
    found = [next((kind for kind, is_so in tests if is_so(text, query)), SIMILAR) for text in texts]
    return np.array(found, dtype=np.int64)


def _has_word(text: str, query: str) -> bool:
    return f" {query}" in text


def _fitting(lengths: IntArray) -> int:
    """Return how many of the first lists may be read."""
    return int(np.searchsorted(np.cumsum(lengths), MAX_POSTINGS, side="right"))
