"""Names and labels as numbers: every three letters in a row, hashed to two bytes.

Search finds what people type by them, and methods compare how two entities are called.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot import arrays
from tripleshot.arrays import IntArray
from tripleshot.graph.index_files import Columns
from tripleshot.graph.vocabulary import Vocabulary

MAX_LENGTH = 256  # letters of a text that are looked at
BLOCK_SIZE = 1 << 16  # names numbered by two bytes
NUM_CODES = 1 << 16  # trigrams are hashed to two bytes; a collision costs one comparison
SPACE = ord(" ")

Texts = pa.LargeStringArray


def names_and_labels(vocabulary: Vocabulary) -> list[Texts]:
    """Return the names and, if there are any, the labels."""
    return [vocabulary.names] if vocabulary.labels is None else [vocabulary.names, vocabulary.labels]


def representable(text: str) -> str:
    """Return a text with a question mark for whatever UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode()


def as_texts(text: str) -> Texts:
    """Hold one text the way names are held; what UTF-8 cannot say becomes a question mark."""
    return pa.array([representable(text)], type=pa.large_string())


def normalise(texts: Texts) -> Texts:
    """Fold case and drop accents and punctuation; a null becomes an empty text."""
    texts = pc.utf8_normalize(pc.utf8_slice_codeunits(pc.fill_null(texts, ""), 0, MAX_LENGTH), form="NFKD")
    texts = pc.utf8_lower(pc.replace_substring_regex(texts, r"\p{Mn}+", ""))
    texts = pc.utf8_trim(pc.replace_substring_regex(texts, r"[\pP\pS\pZ\pC]+", " "), " ")
    return pc.utf8_slice_codeunits(texts, 0, MAX_LENGTH)


def trigrams(*texts: Texts) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Hash every three letters in a row; two spaces begin a text, and none ends it: the last word may go on.

    Returns:
        codes: one for each trigram, text by text.
        owners: where its text stands; texts in the same place, a name and its label, count as one.
    """
    nothing = as_texts("")[0]
    letters, lengths = code_points(pc.binary_join_element_wise(nothing, *texts, nothing, as_texts("  ")[0]))
    padded = np.pad(letters, (0, 3), constant_values=SPACE)
    first, second, third, next_one = padded[:-3], padded[1:-2], padded[2:-1], padded[3:]
    is_within = (third != SPACE) | ((second != SPACE) & (next_one != SPACE))
    hashed = first * np.uint32(0x9E3779B1) + second * np.uint32(0x85EBCA6B) + third * np.uint32(0xC2B2AE35)
    owners = np.repeat(np.arange(len(lengths), dtype=np.uint16), lengths)
    return (hashed >> 16)[is_within].astype(np.uint16), owners[is_within]


def code_points(texts: Texts) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the letters of all texts end to end, and how many each has."""
    together = pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), as_texts("")[0])[0].as_py()
    letters = np.frombuffer(together.encode("utf-32-le"), dtype=np.uint32)
    return letters, pc.utf8_length(texts).to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class NameTrigrams:
    """The trigrams of each name, each once; a name and its label count as one text.

    Attributes:
        offsets: shape (n + 1,), where those of each name start and end.
        codes: in order for each name.
    """

    offsets: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "NameTrigrams":
        """Read all names and labels, some at a time."""
        return cls(**vocabulary.index("trigrams", lambda: _trigram_blocks(vocabulary)))

    def similarity(self, first: IntArray, second: IntArray) -> npt.NDArray[np.float64]:
        """Compare the names of pairs, shape (n,): twice the trigrams in common over those of both (Dice)."""
        first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        asked = np.unique(first)
        positions, owners = arrays.expand(self.offsets, asked)
        known = asked[owners] * NUM_CODES + self.codes[positions]
        positions, owners = arrays.expand(self.offsets, second)
        is_common = np.isin(first[owners] * NUM_CODES + self.codes[positions], known)
        sizes = (self.offsets[rows + 1] - self.offsets[rows] for rows in (first, second))
        total = np.maximum(sum(sizes), 1)
        return 2 * np.bincount(owners, is_common, minlength=len(second)) / total


def _trigram_blocks(vocabulary: Vocabulary) -> Iterator[Columns]:
    yield {"offsets": np.zeros(1, dtype=np.int64), "codes": np.zeros(0, dtype=np.uint16)}
    num_codes = 0
    for first in range(0, len(vocabulary), BLOCK_SIZE):
        chosen = pa.array(np.arange(first, min(first + BLOCK_SIZE, len(vocabulary))))
        codes, owners = trigrams(*(normalise(column.take(chosen)) for column in names_and_labels(vocabulary)))
        owners, codes = np.divmod(np.unique(owners.astype(np.int64) * NUM_CODES + codes), NUM_CODES)
        ends = np.cumsum(np.bincount(owners, minlength=len(chosen)))
        yield {"offsets": ends + num_codes, "codes": codes.astype(np.uint16)}
        num_codes += int(ends[-1])
