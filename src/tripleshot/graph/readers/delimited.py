"""TSV and CSV: Arrow's parallel parser for files that are in order, the plain reader for all others."""

import csv
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import pick_columns, usual_columns
from tripleshot.graph.readers.encoding import Encoded, encode_names
from tripleshot.graph.readers.files import format_suffix, open_binary
from tripleshot.graph.readers.messages import shorten, warn_skipped
from tripleshot.graph.readers.plain import Layout, first_line, plain_rows, read_plain, split_lines

SUFFIX_DELIMITERS = {".tsv": "\t", ".csv": ","}
SNIFFED_DELIMITERS = "\t,;| "


def read_delimited(
    path: Path, header: bool | None = None, delimiter: str | None = None, columns: Sequence[str] | None = None
) -> KnowledgeGraph:
    """Read a file with one triple a line; see `read_graph` for what is accepted."""
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
    return encoded.graph


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
