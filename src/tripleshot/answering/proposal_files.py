"""Proposals back from files: a folder that `complete` has filled, a Parquet file, or a table of a curator."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from tripleshot.answering.export.rows import ProposedTriple
from tripleshot.answering.manifest import Partition, read_manifest
from tripleshot.answering.provenance import METADATA, Provenance
from tripleshot.errors import InputError

ACCEPTED = "accepted"
TRIPLE = ("head", "relation", "tail")
KINDS = {"confidence": pa.float64(), "score": pa.float64(), "rank": pa.int32()}
DELIMITERS = {".tsv": "\t", ".csv": ","}


@dataclass(frozen=True, eq=False)
class ProposalFile:
    """Proposals on disk, read as they are needed.

    Attributes:
        path: of the file or folder.
        provenance: where they come from, as far as the file says so.
        open: begins to read, from the first one on.
    """

    path: Path
    provenance: Provenance
    open: Callable[[], Iterator[pa.RecordBatch]]

    def batches(self, min_confidence: float = 0.0) -> Iterator[pa.RecordBatch]:
        """Give the proposals that are confident enough and, where a curator has decided, those that were accepted.

        There is at least one batch, which may be empty.
        """
        for batch in self.open():
            columns = {name: batch.column(name) for name in ProposedTriple._fields if name in batch.schema.names}
            rows = pa.RecordBatch.from_pydict({name: self._cast(name, column) for name, column in columns.items()})
            if "decision" in columns:
                rows = rows.filter(pc.fill_null(pc.equal(rows.column("decision"), ACCEPTED), False))
            if min_confidence:
                rows = _confident(rows, min_confidence, self.path)
            yield rows

    def _cast(self, name: str, column: pa.Array) -> pa.Array:
        try:
            return column.cast(KINDS.get(name, pa.large_string()))
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: column {name!r} cannot be read: {error}") from None


def read_proposals(source: str | Path) -> ProposalFile:
    """Open proposals: a folder or .parquet file of `complete`, or a .tsv or .csv file with head, relation and tail.

    A column `decision` says which ones a curator has accepted; others are left out.

    Raises:
        InputError: it cannot be read, has other columns, or is not finished.
    """
    path = Path(source)
    if path.is_dir():
        return _read_folder(path)
    if path.suffix == ".parquet":
        return _read_parquet(path)
    if path.suffix in DELIMITERS:
        table = _read_table(path)
        return ProposalFile(path, Provenance(), lambda: iter(table.to_batches() or [_empty(table.schema)]))
    raise InputError(f"{path}: proposals are a folder of `complete`, or a .parquet, .tsv or .csv file")


def _read_folder(folder: Path) -> ProposalFile:
    question, partitions = read_manifest(folder)
    if "provenance" not in question:
        raise InputError(f"{folder}: has answers of `ask`, and no proposals of `complete`")
    num_done = sum(partition.num_asked for partition in partitions)
    if num_done < question["num_asked"]:
        about = f"{num_done:,} of {question['num_asked']:,} heads are done"
        raise InputError(f"{folder}: is not finished, {about}; the same command of `complete` goes on")
    files = [folder / Partition.name_of(partition.number) for partition in partitions]
    provenance = Provenance.from_dict(question["provenance"], folder)
    return ProposalFile(folder, provenance, lambda: _parquet_batches(files))


def _read_parquet(path: Path) -> ProposalFile:
    try:
        schema = pq.read_schema(path)
        _check_columns(path, schema.names)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    provenance = Provenance()
    if METADATA in (schema.metadata or {}):
        try:
            document = json.loads(schema.metadata[METADATA])
        except ValueError:
            document = None
        provenance = Provenance.from_dict(document, path)
    return ProposalFile(path, provenance, lambda: _parquet_batches([path]))


def _parquet_batches(files: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                is_empty = True
                for batch in file.iter_batches():
                    is_empty = False
                    yield batch
                if is_empty:
                    yield _empty(file.schema_arrow)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None


def _read_table(path: Path) -> pa.Table:
    """Read a table as `tables` writes it: a .tsv file without quoting."""
    parsing = pacsv.ParseOptions(
        delimiter=DELIMITERS[path.suffix],
        quote_char='"' if path.suffix == ".csv" else False,
        newlines_in_values=path.suffix == ".csv",
    )
    reading = pacsv.ConvertOptions(column_types=dict.fromkeys((*TRIPLE, "decision"), pa.large_string()) | KINDS)
    try:
        table = pacsv.read_csv(path, parse_options=parsing, convert_options=reading)
        _check_columns(path, table.column_names)  # names may be anything but text
        return table
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def _check_columns(path: Path, names: Iterable[str]) -> None:
    missing = [name for name in TRIPLE if name not in names]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]!r}; expected {', '.join(TRIPLE)}")


def _confident(rows: pa.RecordBatch, min_confidence: float, path: Path) -> pa.RecordBatch:
    if "confidence" not in rows.schema.names:
        raise InputError(f"{path}: has no column 'confidence'; leave out min_confidence")
    return rows.filter(pc.fill_null(pc.greater_equal(rows.column("confidence"), min_confidence), False))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
