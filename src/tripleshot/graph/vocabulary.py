"""Names and ids: what an entity or a relation is called, on disk and to a person.

Ids are positions. Names live in one Arrow array (millions of names in a few hundred megabytes), never in a dict, and
come back only at the edge: answers, explanations, errors.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.arrays import hash_arrays
from tripleshot.errors import InputError, did_you_mean
from tripleshot.graph.index_files import Columns, collect, is_large, keep
from tripleshot.graph.name_lookup import NameLookup, lookup_blocks

FEW = 64  # names of a vocabulary of which this part is asked for are looked up; more are compared with all of them
IRI_PATTERN = r"^(?:https?|urn):.*[/#:](?P<end>[^/#:]+)[/#]?$"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Unique names in id order, with an optional human label for each.

    Attributes:
        kind: what is being named, for messages: "entity" or "relation".
        names: shape (n,), large_string, no nulls, no duplicates.
        labels: shape (n,), large_string, null where there is none; or None when nothing has a label.
        content_hash: of names and labels, where it is known: indexes of a large vocabulary are then kept on disk, and
            a name is looked up there. Otherwise all names are read, about 20 ms for five million.
    """

    kind: str
    names: pa.LargeStringArray
    labels: pa.LargeStringArray | None = None
    content_hash: str | None = None

    @classmethod
    def of(cls, kind: str, names: Iterable[str], labels: Mapping[str, str] | None = None) -> "Vocabulary":
        """Make a vocabulary from names in id order and a mapping from names to labels."""
        vocabulary = cls(kind, pa.array(names, type=pa.large_string()))
        return vocabulary.with_labels(labels) if labels else vocabulary

    def __len__(self) -> int:
        return len(self.names)

    def name(self, index: int) -> str:
        """Return the name behind an id."""
        return self.names[index].as_py()

    def label(self, index: int) -> str:
        """Return what to show a person: the label, or the name where there is none."""
        label = None if self.labels is None else self.labels[index].as_py()
        return self.name(index) if label is None else label

    def __contains__(self, name: str) -> bool:
        return self._place(name) >= 0

    def id(self, name: str) -> int:
        """Return the id of one name."""
        found = self._place(name)
        if found < 0:
            raise InputError(f"unknown {self.kind} {name!r}{did_you_mean(name, self._similar(name))}")
        return found

    def find(self, names: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of many names in one pass, -1 for those that are unknown."""
        column = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else None
        listed = list(names) if column is None else []
        if self._is_indexed and (len(listed) if column is None else len(column)) * FEW <= len(self):
            texts = listed if column is None else column.to_pylist()
            owners, places = self._lookup("names").find(texts)
            found = np.full(len(texts), -1, dtype=np.int32)
            found[owners] = places
            return found
        asked = pa.array(listed, type=pa.large_string()) if column is None else column
        return pc.fill_null(pc.index_in(asked, value_set=self.names), -1).to_numpy()

    def exact(self, text: str) -> npt.NDArray[np.int64]:
        """Return, sorted, what has this very name, or else all that have this very label."""
        found = self._equal("names", text)
        return found if len(found) or self.labels is None else self._equal("labels", text)

    def _equal(self, column: str, text: str) -> npt.NDArray[np.int64]:
        if self._is_indexed:
            return self._lookup(column).find([text])[1]
        asked = pa.scalar(text, type=pa.large_string())
        return pc.indices_nonzero(pc.equal(getattr(self, column), asked)).to_numpy().astype(np.int64)

    @property
    def _is_indexed(self) -> bool:
        return self.content_hash is not None and is_large(len(self))

    def _place(self, name: str) -> int:
        return int(self.find([name])[0]) if self._is_indexed else pc.index(self.names, name).as_py()

    def _lookup(self, column: str) -> NameLookup:
        """Return the index of names or of labels."""
        if column not in self._lookups:
            texts = getattr(self, column)
            columns = self.index(f"{column}_lookup", lambda: lookup_blocks(texts))
            self._lookups[column] = NameLookup(texts, **columns)
        return self._lookups[column]

    @cached_property
    def _lookups(self) -> dict[str, NameLookup]:
        return {}

    def index(self, name: str, build: Callable[[], Iterable[Columns]]) -> Columns:
        """Return what is derived from names and labels alone; that of a large vocabulary may be kept on disk.

        Args:
            name: of the index.
            build: gives its columns block by block.
        """
        key = self.content_hash
        return collect(build()) if key is None else keep(lambda: key, name, len(self), build)

    def align(self, other: "Vocabulary", unknown: int, first: int = 0) -> npt.NDArray[np.int64]:
        """Return which row of a table that was made for these names each name of another vocabulary takes.

        Args:
            other: the names to be read now.
            unknown: the row of a name that is not here.
            first: the row of the first name that is here; the others follow.

        Returns:
            shape (len(other),).
        """
        found = self.find(other.names).astype(np.int64)
        return np.where(found < 0, unknown, first + found)

    def ids(self, names: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of many names in one pass; an unknown one is an error."""
        names = list(names)
        found = self.find(names)
        for position in np.flatnonzero(found < 0)[:1]:
            self.id(names[position])
        return found

    def with_labels(self, labels: Mapping[str, str]) -> "Vocabulary":
        """Return the same names with these labels; labels of names that are not here are left out."""
        known = pa.array(labels.keys(), type=pa.large_string())
        texts = pa.array(labels.values(), type=pa.large_string())
        return Vocabulary(self.kind, self.names, pc.take(texts, pc.index_in(self.names, value_set=known)))

    def with_iri_labels(self) -> "Vocabulary":
        """Return the same names where each IRI without a label is labeled with its last part: `Baku` for `.../Baku`."""
        ends = pc.struct_field(pc.extract_regex(self.names, IRI_PATTERN), "end")
        if ends.null_count == len(ends):
            return self
        return Vocabulary(self.kind, self.names, ends if self.labels is None else pc.coalesce(self.labels, ends))

    def with_more_labels(self, labels: Mapping[str, str]) -> "Vocabulary":
        """Return the same names with labels of some; the others keep theirs."""
        present = [None] * len(self) if self.labels is None else self.labels.to_pylist()
        named = zip(self.names.to_pylist(), present, strict=True)
        return self.with_labels({**{name: label for name, label in named if label is not None}, **labels})

    def with_names(self, names: pa.LargeStringArray) -> "Vocabulary":
        """Return the same names, then those of these that are new, each once, without labels."""
        new = pc.unique(pc.filter(names, pa.array(self.find(names) < 0)))
        labels = self.labels
        if labels is not None:
            labels = pa.concat_arrays([labels, pa.nulls(len(new), pa.large_string())])
        return Vocabulary(self.kind, pa.concat_arrays([self.names, new]), labels)

    @cached_property
    def has_labels(self) -> bool:
        """Whether anything here has a label."""
        return self.labels is not None and self.labels.null_count < len(self.labels)

    def _similar(self, name: str, limit: int = 2000) -> list[str]:
        """Collect names worth comparing letter by letter: all of a few, else those that share a beginning or an end."""
        if len(self) <= limit:
            return self.names.to_pylist()
        for length in (len(name), 5, 3):
            ends = (name[:length], name[-length:])
            hits = [pc.filter(self.names, pc.match_substring(self.names, end, ignore_case=True)) for end in ends]
            if any(len(hit) for hit in hits):
                return [similar for hit in hits for similar in hit[:limit].to_pylist()]
        return []


def hash_vocabulary(vocabulary: Vocabulary) -> str:
    """Return a hash of names and labels, to be the `content_hash` of a vocabulary."""
    columns: list[npt.NDArray | memoryview] = []
    for texts in (vocabulary.names, vocabulary.labels):
        if texts is not None:
            columns += [pc.fill_null(pc.binary_length(texts), -1).to_numpy(), text_of(texts)]
    return hash_arrays(*columns)


def text_of(texts: pa.LargeStringArray) -> memoryview:
    """Return the bytes of all texts end to end, without a copy."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return memoryview(b"")
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def name_columns(triples: Iterable[tuple[str, str, str]]) -> list[pa.LargeStringArray]:
    """Return heads, relations and tails, each as an array of names."""
    try:
        rows = [(head, relation, tail) for head, relation, tail in triples]
        columns = [pa.array([row[place] for row in rows], type=pa.large_string()) for place in range(3)]
    except (ValueError, TypeError, pa.ArrowException):
        raise InputError("expected triples of head, relation and tail as strings") from None
    if any(pc.any(pc.equal(pc.utf8_trim_whitespace(column), "")).as_py() or column.null_count for column in columns):
        raise InputError("expected triples of three names, found an empty one")
    return columns
