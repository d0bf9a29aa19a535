"""TSV and CSV: Arrow's parallel parser for files that are in order, the plain reader for all others."""

import csv
import warnings
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from tripleshot.errors import InputError, InputWarning
from tripleshot.graph import KnowledgeGraph
from tripleshot.readers.columns import pick_columns, usual_columns
from tripleshot.readers.encoding import Encoded, count_skipped, encode_names
from tripleshot.readers.files import format_suffix, open_binary, shorten
from tripleshot.readers.plain import Layout, first_line, is_quoted, line_of, plain_rows, read_plain

SUFFIX_DELIMITERS = {".tsv": "\t", ".csv": ","}
SNIFFED_DELIMITERS = "\t,;| "


def read_delimited(
    path: Path, header: bool | None = None, delimiter: str | None = None, columns: Sequence[str] | None = None
) -> KnowledgeGraph:
    """Read a file with one triple a line; see `read_graph` for what is accepted."""
    layout = find_layout(path, header, delimiter, columns)
    encoded = read_fast(path, layout) or encode_names(*read_plain(path, layout))
    # What Arrow needed on the way is more than what is left; without this it stays with the process.
    pa.default_memory_pool().release_unused()
    if encoded.graph.num_triples == 0:
        raise InputError(f"{path}: expected triples, found only a header")
    if encoded.first_duplicate is not None:
        line = line_of(path, layout, encoded.first_duplicate)
        counted = count_skipped(encoded.num_duplicates, "duplicate triple")
        warnings.warn(f"{path}:{line}: {counted}", InputWarning, stacklevel=4)
    return encoded.graph


def read_fast(path: Path, layout: Layout) -> Encoded | None:
    """Return the graph, or None when the file needs a closer look."""
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
                    ignore_empty_lines=False,
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
    encoded = encode_names(*(table[name].slice(layout.has_header) for name in wanted))
    return encoded if encoded.first_blank is None else None


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
    return Layout(delimiter, len(cells) if has_header else 3, picks, has_header)


def _sniff_delimiter(path: Path, columns: Sequence[str] | None) -> str:
    """Return the first delimiter that makes three columns, or a header we understand, of the first line."""
    line, text = first_line(path)
    for delimiter in SNIFFED_DELIMITERS:
        quoting = csv.QUOTE_MINIMAL if is_quoted(delimiter) else csv.QUOTE_NONE
        cells = next(csv.reader([text], delimiter=delimiter, quoting=quoting))
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
