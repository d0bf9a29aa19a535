"""TSV and CSV: Arrow's parallel parser for files that are in order, a plain reader for all others.

The plain reader goes line by line. It is slow and exact about lines: the fast one cannot say where something is wrong,
so the plain one reads whatever the fast one refuses. Where both can read a file, they must agree.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tripleshot.errors import InputError, warn
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import Picks, pick_columns, usual_columns
from tripleshot.graph.readers.encoding import Encoded, encode_names
from tripleshot.graph.readers.sources import format_suffix, open_binary, shorten, warn_skipped

if TYPE_CHECKING:
    from _csv import Reader

SUFFIX_DELIMITERS = {".tsv": "\t", ".csv": ","}
FEWEST_ROWS = 20  # of a file whose first row can be told to be a header by names that stand nowhere else
SNIFFED_DELIMITERS = "\t,;| "
BATCH = 100_000  # rows that the plain reader holds as Python objects


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


def read_delimited(
    path: Path, header: bool | None = None, delimiter: str | None = None, columns: Sequence[str] | None = None
) -> KnowledgeGraph:
    """Read a file with one triple per line; see `read_graph` for what is accepted."""
    layout = find_layout(path, header, delimiter, columns)
    encoded = _read_without_blanks(path, layout)
    # What Arrow needed on the way is more than what is left; without this it stays with the process.
    pa.default_memory_pool().release_unused()
    if encoded.graph.num_triples == 0:
        raise InputError(f"{path}: expected triples, found only a header")
    if encoded.first_duplicate is not None:
        lines = (line for line, cells in plain_rows(path, layout.delimiter) if cells)
        first = next(islice(lines, encoded.first_duplicate + layout.has_header, None))
        warn_skipped(f"{path}:{first}", encoded.num_duplicates, "duplicate triple")
    if header is None and not layout.has_header and _begins_with_names_of_columns(encoded.graph):
        warn(
            f"{path}:{layout.first_line}: read as a triple, but its names stand nowhere else: if they name the "
            "columns, give columns=(head, relation, tail)"
        )
    return encoded.graph


def _begins_with_names_of_columns(graph: KnowledgeGraph) -> bool:
    """Tell whether relation and ends of the first triple stand in no other, while every other relation stands in some.

    A header of unusual names looks so, and hardly a triple does. It stays a triple: nothing that was written is lost.
    """
    of_relations = np.bincount(graph.relation_ids, minlength=graph.num_relations)
    if graph.num_triples < FEWEST_ROWS or of_relations[0] != 1 or of_relations[1:].min() < 2:
        return False
    ends = graph.head_ids[0], graph.tail_ids[0]
    return all(int((graph.head_ids == end).sum() + (graph.tail_ids == end).sum()) == 1 for end in ends)


def _read_without_blanks(path: Path, layout: Layout) -> Encoded:
    """Read fast if at all possible, also when empty lines have to be left out."""
    encoded = read_fast(path, layout)
    if encoded is not None and encoded.first_blank is not None:
        num_rows = encoded.num_rows
        encoded = read_fast(path, layout, skip_empty_lines=True)
        if encoded is not None and encoded.first_blank is None:
            first = next(line for line, cells in plain_rows(path, layout.delimiter) if not cells)
            warn_skipped(f"{path}:{first}", num_rows - encoded.num_rows, "blank line")
    if encoded is None or encoded.first_blank is not None:
        encoded = encode_names(*read_plain(path, layout))
    return encoded


def read_fast(path: Path, layout: Layout, skip_empty_lines: bool = False) -> Encoded | None:
    """Return the graph, empty lines as triples of empty names; or None when the file needs a closer look."""
    if layout.has_header and layout.first_line > 1:
        return None
    names = [str(position) for position in range(layout.num_columns)]
    wanted = [names[pick] for pick in layout.picks]
    try:
        with open_binary(path) as stream:
            table = pa.csv.read_csv(
                stream,
                pa.csv.ReadOptions(column_names=names),
                pa.csv.ParseOptions(
                    delimiter=layout.delimiter,
                    quote_char='"' if layout.quoted else False,
                    newlines_in_values=layout.quoted,
                    ignore_empty_lines=skip_empty_lines,
                ),
                pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=list(dict.fromkeys([*wanted, names[-1]])),
                ),
            )
    except InputError:
        return None
    if layout.quoted and any(end in table[names[-1]][-1].as_py() for end in "\r\n"):
        return None  # perhaps a quote that never closes
    return encode_names(*(table[name].slice(layout.has_header) for name in wanted))


def find_layout(path: Path, header: bool | None, delimiter: str | None, columns: Sequence[str] | None) -> Layout:
    """Look at the first row to learn what separates the columns and which are wanted."""
    if columns is not None and header is False:
        raise InputError(f"{path}: columns= names columns of a header, header=False says that there is none")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"\0'):
        raise InputError(f"delimiter: expected one character such as a tab or a comma, found {delimiter!r}")
    delimiter = delimiter or SUFFIX_DELIMITERS.get(format_suffix(path)) or _sniff_delimiter(path, columns)
    line, cells = _first_row(path, delimiter)
    has_header = header if header is not None else columns is not None or usual_columns(cells) is not None
    picks = pick_columns(cells, columns, f"{path}:{line}") if has_header else (0, 1, 2)
    return Layout(delimiter, line, len(cells) if has_header else 3, picks, has_header)


def _sniff_delimiter(path: Path, columns: Sequence[str] | None) -> str:
    """Return the first delimiter that makes three columns, or a header we understand, of the first line."""
    line, text = first_line(path)
    for delimiter in SNIFFED_DELIMITERS:
        try:
            cells = next(split_lines([text], delimiter))
        except csv.Error as error:
            raise InputError(f"{path}:{line}: {error}") from error
        if len(cells) == 3 or usual_columns(cells) or (columns is not None and set(columns) <= set(cells)):
            return delimiter
    raise InputError(
        f"{path}:{line}: expected three columns separated by tabs, commas, semicolons, bars or spaces, "
        f"found {shorten(text)!r}"
    )


def _first_row(path: Path, delimiter: str) -> tuple[int, list[str]]:
    for line, cells in plain_rows(path, delimiter):
        if cells:
            return line, cells
    raise InputError(f"{path}: expected triples, found an empty file")


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
