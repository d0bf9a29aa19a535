"""Names to ids, whatever the names came from: the one place that decides on ids, duplicates and empty names.

Nothing here loops over triples or keeps names in a dict: Arrow numbers the names, numpy compares the numbers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.sources import warn_skipped
from tripleshot.graph.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]

MAX_SMALL_BYTES = 2**31  # the text that a column of `string`, which takes less memory than `large_string`, can hold


@dataclass(frozen=True)
class Encoded:
    """A graph, and what its reader has to say about the rows it came from.

    Attributes:
        graph: every triple once, in the order of the rows.
        num_duplicates: number of rows that repeat an earlier one.
        first_duplicate: the first such row, counted from 0, or None.
        first_blank: the first row with an empty or only-whitespace name, counted from 0, or None.
    """

    graph: KnowledgeGraph
    num_duplicates: int
    first_duplicate: int | None
    first_blank: int | None

    @property
    def num_rows(self) -> int:
        """Number of rows the graph was made of."""
        return self.graph.num_triples + self.num_duplicates


def encode_names(heads: pa.ChunkedArray, relations: pa.ChunkedArray, tails: pa.ChunkedArray) -> Encoded:
    """Number names by first appearance, heads before tails, and make a graph of the three columns (no nulls)."""
    relation_names, relation_ids = _number(relations)
    entity_names, entity_ids = _number(pa.chunked_array([*heads.chunks, *tails.chunks], type=heads.type))
    return encode_ids(
        Vocabulary("entity", entity_names),
        Vocabulary("relation", relation_names),
        entity_ids[: len(heads)],
        relation_ids,
        entity_ids[len(heads) :],
    )


def encode_ids(entities: Vocabulary, relations: Vocabulary, head_ids: Ids, relation_ids: Ids, tail_ids: Ids) -> Encoded:
    """Make a graph of triples that are numbered already."""
    blank_entities, blank_relations = _blank_ids(entities), _blank_ids(relations)
    first_blank = None
    if len(blank_entities) or len(blank_relations):
        blank = (
            np.isin(head_ids, blank_entities)
            | np.isin(relation_ids, blank_relations)
            | np.isin(tail_ids, blank_entities)
        )
        first_blank = int(np.argmax(blank)) if blank.any() else None
    repeats = find_repeats(head_ids, relation_ids, tail_ids, len(entities), len(relations))
    if len(repeats):
        head_ids, relation_ids, tail_ids = (np.delete(column, repeats) for column in (head_ids, relation_ids, tail_ids))
    graph = KnowledgeGraph(entities, relations, head_ids, relation_ids, tail_ids)
    return Encoded(graph, len(repeats), int(repeats[0]) if len(repeats) else None, first_blank)


def warn_of_duplicates(encoded: Encoded, origin: str, unit: str) -> None:
    """Say how many rows were left out because they repeat an earlier one, and which was the first, counted from 1."""
    if encoded.first_duplicate is not None:
        warn_skipped(f"{origin}: {unit} {encoded.first_duplicate + 1}", encoded.num_duplicates, "duplicate triple")


def _number(names: pa.ChunkedArray) -> tuple[pa.LargeStringArray, Ids]:
    """Return the distinct names in order of appearance, and each row's position among them."""
    if names.nbytes >= MAX_SMALL_BYTES:
        names = names.cast(pa.large_string())
    encoded = names.dictionary_encode()
    if encoded.num_chunks == 0:
        return pa.array([], type=pa.large_string()), np.empty(0, dtype=np.int32)
    # Arrow numbers all chunks of one column together: every chunk has the same, complete dictionary.
    ids = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return encoded.chunk(encoded.num_chunks - 1).dictionary.cast(pa.large_string()), ids


def _blank_ids(vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
    blank = pc.or_(pc.equal(pc.binary_length(vocabulary.names), 0), pc.utf8_is_space(vocabulary.names))
    return np.flatnonzero(blank.to_numpy(zero_copy_only=False))


def find_repeats(
    head_ids: Ids, relation_ids: Ids, tail_ids: Ids, num_entities: int, num_relations: int
) -> npt.NDArray[np.int64]:
    """Return, in order, the rows that repeat an earlier row; the keys of triples may exceed 64 bits."""
    keys = head_ids.astype(np.int64) * num_relations + relation_ids
    if num_entities * num_relations * num_entities >= 2**63:
        keys = np.unique(keys, return_inverse=True)[1]
    keys = keys * num_entities + tail_ids
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    return np.sort(order[1:][keys[order[1:]] == keys[order[:-1]]])
