"""Names and ids: what an entity or a relation is called, on disk and to a person.

Ids are positions. Names live in one Arrow array (millions of names in a few hundred megabytes), never in a dict, and
come back only at the edge: answers, explanations, errors.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.errors import InputError, did_you_mean


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Unique names in id order, with an optional human label for each.

    Attributes:
        kind: what is being named, for messages: "entity" or "relation".
        names: shape (n,), large_string, no nulls, no duplicates.
        labels: shape (n,), large_string, null where there is none; or None when nothing has a label.
    """

    kind: str
    names: pa.LargeStringArray
    labels: pa.LargeStringArray | None = None

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
        return pc.index(self.names, name).as_py() >= 0

    def id(self, name: str) -> int:
        """Return the id of one name: a scan without an index, about 20 ms over five million names."""
        found = pc.index(self.names, name).as_py()
        if found < 0:
            raise InputError(f"unknown {self.kind} {name!r}{did_you_mean(name, self._similar(name))}")
        return found

    def find(self, names: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of many names in one pass, -1 for those that are unknown."""
        asked = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else pa.array(names, type=pa.large_string())
        found = pc.index_in(asked, value_set=self.names)
        return pc.fill_null(found, -1).to_numpy()

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

    def with_names(self, names: pa.LargeStringArray) -> "Vocabulary":
        """Return the same names, then those of these that are new, each once, without labels."""
        new = pc.unique(pc.filter(names, pc.invert(pc.is_in(names, value_set=self.names))))
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
