"""Triples that are in memory already: Python objects and PyKEEN's factories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.encoding import Encoded, encode_ids, encode_names, warn_of_duplicates
from tripleshot.graph.readers.sources import Progress, shorten, warn_stopped
from tripleshot.graph.vocabulary import Vocabulary

BATCH = 100_000
SHOWN = 1000  # triples between two reports of progress


class Factory(Protocol):
    """What we use of PyKEEN's TriplesFactory, so that it need not be installed."""

    mapped_triples: Any
    entity_id_to_label: Mapping[int, str]
    relation_id_to_label: Mapping[int, str]


def read_triples(triples: Iterable[Any]) -> KnowledgeGraph:
    """Read (head, relation, tail) strings, any number of them."""
    return read_names(_checked(triples), "iterable")


def read_names(triples: Iterable[Sequence[str]], origin: str) -> KnowledgeGraph:
    """Read triples of strings in batches, so that they need never be in memory as Python objects all at once."""
    chunks: tuple[list[pa.Array], ...] = ([], [], [])
    iterator = iter(triples)
    while batch := list(islice(iterator, BATCH)):
        for column, names in zip(chunks, zip(*batch, strict=True), strict=True):
            column.append(_as_array(names, origin))
    if not chunks[0]:
        raise InputError(f"{origin}: expected triples, found none")
    return _accepted(encode_names(*(pa.chunked_array(column) for column in chunks)), origin)


def bounded(
    triples: Iterator[tuple[str, str, str]], max_triples: int, place: str, progress: Progress | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield triples up to a number, and warn if there are more.

    Args:
        triples: any number of them.
        max_triples: how many to yield at most.
        place: where they come from, for the warning.
        progress: told how many have come.
    """
    if max_triples < 1:
        raise InputError(f"max_triples: expected 1 or more, found {max_triples}")
    num_triples = 0
    for triple in islice(triples, max_triples):
        yield triple
        num_triples += 1
        if progress is not None and num_triples % SHOWN == 0:
            progress(num_triples, None)
    if num_triples == max_triples and next(triples, None) is not None:
        warn_stopped(place, num_triples)


def as_name(value: object, place: str) -> str:
    """Return a text or an integer of another library as a name."""
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        raise InputError(f"{place}: expected a name as text or integer, found {shorten(repr(value))}")
    return str(value)


def read_factory(factory: Factory) -> KnowledgeGraph:
    """Read a PyKEEN TriplesFactory; entities and relations keep the ids they have there."""
    origin = type(factory).__name__
    entities = Vocabulary.of("entity", _names(factory, "entity_id_to_label"))
    relations = Vocabulary.of("relation", _names(factory, "relation_id_to_label"))
    triples = np.asarray(factory.mapped_triples)
    if len(triples) == 0:
        raise InputError(f"{origin}: expected triples, found none")
    limits = np.array([len(entities), len(relations), len(entities)])
    for row in np.flatnonzero(((triples < 0) | (triples >= limits)).any(axis=1))[:1]:
        raise InputError(f"{origin}: triple {row + 1}: expected ids that have names, found {triples[row].tolist()}")
    return _accepted(encode_ids(entities, relations, *triples.astype(np.int32).T), origin)


def _names(factory: Factory, attribute: str) -> list[str]:
    names = getattr(factory, attribute, {})
    try:
        return [names[index] for index in range(max(len(names), 1))]
    except KeyError as error:
        raise InputError(f"{type(factory).__name__}: expected a name for every id, found none for {error}") from error


def _accepted(encoded: Encoded, origin: str) -> KnowledgeGraph:
    if encoded.first_blank is not None:
        raise InputError(f"{origin}: triple {encoded.first_blank + 1}: expected three names, found an empty one")
    warn_of_duplicates(encoded, origin, "triple")
    return encoded.graph


def _checked(triples: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    for position, triple in enumerate(triples, start=1):
        is_row = isinstance(triple, (tuple, list, np.ndarray)) and len(triple) == 3
        if not (is_row and all(isinstance(name, str) for name in triple)):
            found = shorten(repr(triple))
            raise InputError(f"iterable: triple {position}: expected head, relation and tail as strings, found {found}")
        head, relation, tail = triple
        yield head, relation, tail


def _as_array(names: Sequence[str], origin: str) -> pa.Array:
    try:
        return pa.array(names, type=pa.large_string())
    except UnicodeEncodeError as error:
        raise InputError(f"{origin}: expected Unicode text, found {shorten(ascii(error.object))}") from error
