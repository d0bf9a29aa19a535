"""Delimited text line by line: slow, exact about lines, and the meaning that the fast reader must agree with.

The fast reader cannot say where something is wrong; this one can, so it reads whatever the fast one refuses.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tripleshot.errors import InputError
from tripleshot.graph.readers.columns import Picks
from tripleshot.graph.readers.files import open_binary
from tripleshot.graph.readers.messages import shorten, warn_skipped

if TYPE_CHECKING:
    from _csv import Reader

BATCH = 100_000


@dataclass(frozen=True)
class Layout:
    """How one file of delimited text is laid out.

    Attributes:
        delimiter: what separates the columns.
        first_line: the line of the first row, counted from 1: blank lines may come before it.
        num_columns: how many columns every row has.
        picks: which of them are head, relation and tail.
        has_header: whether the first row names the columns.
    """

    delimiter: str
    first_line: int
    num_columns: int
    picks: Picks
    has_header: bool

    @property
    def quoted(self) -> bool:
        """Whether quotes enclose a cell, as in CSV, rather than being part of a name."""
        return is_quoted(self.delimiter)


def is_quoted(delimiter: str) -> bool:
    """Return whether text with this delimiter follows CSV's quoting: all but tabs and spaces do."""
    return not delimiter.isspace()


def split_lines(lines: Iterable[str], delimiter: str) -> "Reader":
    """Split lines into cells; a quoted cell may go on over several lines."""
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if is_quoted(delimiter) else csv.QUOTE_NONE)


def plain_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line each row starts on and its cells; a blank line has none."""
    with open_binary(path) as stream:
        lines = _Lines(path, stream)
        rows = split_lines(lines, delimiter)
        line = 1
        try:
            for cells in rows:
                # Only a quote that is still open makes the reader ask for more lines than there are.
                if lines.at_end and any(end in cells[-1] for end in "\r\n"):
                    raise InputError(f"{path}:{line}: a quote opens here and never closes: {_show(cells, delimiter)}")
                yield line, [] if _is_blank(cells, delimiter) else cells
                line = rows.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path}:{line}: {error}") from error


def first_line(path: Path) -> tuple[int, str]:
    """Return the number and the text of the first line that is not blank."""
    with open_binary(path) as stream:
        for number, line in enumerate(_Lines(path, stream), start=1):
            if line.strip():
                return number, line.rstrip("\r\n")
    raise InputError(f"{path}: expected triples, found an empty file")


def read_plain(path: Path, layout: Layout) -> list[pa.ChunkedArray]:
    """Return heads, relations and tails; count blank lines in a warning, refuse every other odd row."""
    num_blank, first_blank = 0, 0
    chunks: tuple[list[pa.Array], ...] = ([], [], [])
    rows = _checked_rows(path, layout)
    while batch := list(islice(rows, BATCH)):
        triples = [cells for _, cells in batch if cells]
        for line in (line for line, cells in batch if not cells):
            num_blank, first_blank = num_blank + 1, first_blank or line
        for column, pick in zip(chunks, layout.picks, strict=True):
            column.append(pa.array([cells[pick] for cells in triples], type=pa.large_string()))
    if num_blank:
        warn_skipped(f"{path}:{first_blank}", num_blank, "blank line")
    return [pa.chunked_array(column, type=pa.large_string()) for column in chunks]


def _checked_rows(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield rows without the header; a row that is neither a triple nor blank is an error."""
    is_header = layout.has_header
    for line, cells in plain_rows(path, layout.delimiter):
        if cells and len(cells) != layout.num_columns:
            raise InputError(
                f"{path}:{line}: expected {layout.num_columns} columns separated by {layout.delimiter!r}, "
                f"found {len(cells)}: {_show(cells, layout.delimiter)}"
            )
        if cells and is_header:
            is_header = False
            continue
        for pick, role in zip(layout.picks, ("head", "relation", "tail"), strict=True):
            if cells and not cells[pick].strip():
                raise InputError(
                    f"{path}:{line}: expected a {role}, found an empty name: {_show(cells, layout.delimiter)}"
                )
        yield line, cells


def _is_blank(cells: list[str], delimiter: str) -> bool:
    return (len(cells) <= 1 or delimiter.isspace()) and not any(cell.strip() for cell in cells)


def _show(cells: list[str], delimiter: str) -> str:
    return repr(shorten(delimiter.join(cells)))


class _Lines:
    """A file's lines with their ends, decoded; knows whether all have been taken."""

    def __init__(self, path: Path, stream: pa.NativeFile) -> None:
        self.path = path
        self.at_end = False
        # Escaping lets a bad byte be reported with its line instead of somewhere in a block.
        self.lines = enumerate(io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline=""), start=1)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        number, line = next(self.lines, (0, ""))
        if not number:
            self.at_end = True
            raise StopIteration
        try:
            line.encode()
        except UnicodeEncodeError as error:
            byte = ord(line[error.start]) & 0xFF
            shown = repr(shorten(line.strip().encode(errors="replace").decode()))
            raise InputError(f"{self.path}:{number}: expected UTF-8, found byte 0x{byte:02x}: {shown}") from error
        return line
