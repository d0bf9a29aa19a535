"""Columns that are derived from a large graph: built once, kept in the user's cache, mapped into memory ever after.

A folder of plain binary files, one for each column, and a manifest with their lengths and checksums. It appears whole
or not at all, and is built by one process while others wait; all of them share its pages. A file that has changed since
it was written is read once more, and what is damaged is built anew. Where nothing can be written, or with
TRIPLESHOT_INDEXES=0 in the environment, columns stay in memory.
"""

import json
import logging
import mmap
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tripleshot.arrays import frozen
from tripleshot.errors import TripleshotError
from tripleshot.files.atomic import cache_dir, new_folder
from tripleshot.files.locks import file_lock

logger = logging.getLogger(__name__)

FORMAT = 2  # counts up whenever the columns of some index change their meaning
MIN_ROWS = 20_000  # what is made of fewer rows is made in milliseconds
MAX_BYTES = 32 << 30  # of all indexes together; those used least recently are dropped
MANIFEST = "manifest.json"
BYTES_AT_ONCE = 1 << 24

Columns = dict[str, npt.NDArray]

_UNWRITABLE: set[Path] = set()  # folders that were warned of


@dataclass(frozen=True, eq=False)
class StoredColumns:
    """Columns that belong together, in memory or mapped from files.

    Attributes:
        columns: by name.
        about: whatever else was written with them, as JSON can hold it.
    """

    columns: Columns
    about: dict[str, Any]


@dataclass(frozen=True)
class IndexFolder:
    """One index on disk.

    Attributes:
        path: its folder.
        num_bytes: of all its files.
        last_used: seconds since the epoch.
    """

    path: Path
    num_bytes: int
    last_used: float


def collect(blocks: Iterable[Mapping[str, npt.NDArray]]) -> Columns:
    """Append the blocks of each column to each other in memory."""
    parts: dict[str, list[npt.NDArray]] = {}
    for block in blocks:
        for name, part in block.items():
            parts.setdefault(name, []).append(part)
    return {name: frozen(np.concatenate(column)) for name, column in parts.items()}


def indexes_dir() -> Path:
    """Return where indexes are kept."""
    return cache_dir() / "indexes"


def is_large(num_rows: int) -> bool:
    """Tell whether what is made of so many rows is worth keeping on disk, and may be."""
    return num_rows >= MIN_ROWS and os.environ.get("TRIPLESHOT_INDEXES") != "0"


def keep(
    key: Callable[[], str], name: str, num_rows: int, build: Callable[[], Iterable[Mapping[str, npt.NDArray]]]
) -> Columns:
    """Return columns that were built before, or build them now; what took many rows is read-only maps of files.

    Args:
        key: the hash of all that the columns are made of; it is not asked for where nothing is kept.
        name: what the columns are.
        num_rows: of what they are made of; what takes few is made anew each time.
        build: gives the columns block by block; each column once at least, and each time with the same type.
    """
    if not is_large(num_rows):
        return collect(build())
    stored = open_or_build(key(), name, lambda: (build(), {}))
    return collect(build()) if stored is None else stored.columns


def open_or_build(
    key: str,
    name: str,
    build: Callable[[], tuple[Iterable[Mapping[str, npt.NDArray]], Mapping[str, Any]]],
) -> StoredColumns | None:
    """Return columns from disk, built now if need be; None where nothing can be written."""
    folder = indexes_dir() / key / name
    if (found := read_columns(folder)) is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file_lock(folder.with_name(f".{name}.building")):
            if (found := read_columns(folder)) is not None:  # another process has built it meanwhile
                return found
            started = time.perf_counter()
            write_columns(folder, *build())
            logger.info("built the index %s in %.1f s: %s", name, time.perf_counter() - started, folder)
        drop_least_used(folder)
        return read_columns(folder)
    except (OSError, TripleshotError) as error:
        if indexes_dir() not in _UNWRITABLE:
            logger.warning("indexes stay in memory: %s", error)
        _UNWRITABLE.add(indexes_dir())
        return None


def write_columns(folder: Path, blocks: Iterable[Mapping[str, npt.NDArray]], about: Mapping[str, Any]) -> None:
    """Write columns to a folder that appears whole or not at all; no more than a block is in memory."""
    with new_folder(folder, overwrite=True) as temporary:
        with ExitStack() as stack:
            written: dict[str, _Column] = {}
            for block in blocks:
                for name, part in block.items():
                    if name not in written:
                        file = stack.enter_context((temporary / f"{name}.bin").open("wb"))
                        written[name] = _Column(file, part.dtype)
                    written[name].append(part)
            described = {name: column.finish() for name, column in written.items()}
        content = {"format": FORMAT, "columns": described, "about": dict(about)}
        (temporary / MANIFEST).write_text(json.dumps({**content, "checksum": _checksum(content)}))


@dataclass
class _Column:
    """A column that is being written."""

    file: IO[bytes]
    dtype: np.dtype
    length: int = 0
    checksum: int = 0

    def append(self, part: npt.NDArray) -> None:
        if part.dtype != self.dtype:
            raise ValueError(f"{self.file.name}: expected {self.dtype}, found {part.dtype}")
        content = np.ascontiguousarray(part).view(np.uint8)
        self.file.write(content.data)
        self.checksum = zlib.crc32(content.data, self.checksum)
        self.length += len(part)

    def finish(self) -> dict[str, Any]:
        self.file.flush()
        changed = os.fstat(self.file.fileno()).st_mtime_ns
        return {"dtype": self.dtype.str, "length": self.length, "checksum": self.checksum, "changed": changed}


def read_columns(folder: Path) -> StoredColumns | None:
    """Map the columns of a folder; None if it is not there, or is not what was written."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        checksum = content.pop("checksum")
        if content["format"] != FORMAT or checksum != _checksum(content):
            return None
        columns = {name: _map(folder / f"{name}.bin", **column) for name, column in content["columns"].items()}
        with suppress(OSError):
            os.utime(folder / MANIFEST)  # when it was used last
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return StoredColumns(columns, content["about"])


def _map(path: Path, dtype: str, length: int, checksum: int, changed: int) -> npt.NDArray:
    kind = np.dtype(dtype)
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        if state.st_size != length * kind.itemsize:
            raise ValueError(f"{path}: expected {length} values")
        if state.st_mtime_ns != changed:
            found = 0
            while part := file.read(BYTES_AT_ONCE):
                found = zlib.crc32(part, found)
            if found != checksum:
                raise ValueError(f"{path}: has changed since it was written")
            with suppress(OSError):
                os.utime(path, ns=(changed, changed))  # a good copy need not be read again
        if not length:
            return frozen(np.empty(0, dtype=kind))
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=kind)


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def list_indexes() -> list[IndexFolder]:
    """Return every index on disk, the one used last first."""
    found = []
    for manifest in indexes_dir().glob("*/*/" + MANIFEST):
        if not manifest.parent.name.startswith("."):  # it is being written
            with suppress(OSError):
                size = sum(file.stat().st_size for file in manifest.parent.iterdir())
                found.append(IndexFolder(manifest.parent, size, manifest.stat().st_mtime))
    return sorted(found, key=lambda one: -one.last_used)


def drop_least_used(newest: Path | None = None, max_bytes: int | None = None) -> None:
    """Remove the indexes used least recently until all take no more than so many bytes; the newest stays anyway.

    A process that has one of them mapped keeps what it has.
    """
    left = MAX_BYTES if max_bytes is None else max_bytes
    for index in list_indexes():
        left -= index.num_bytes
        if left < 0 and index.path != newest:
            shutil.rmtree(index.path, ignore_errors=True)
            with suppress(OSError):
                index.path.parent.rmdir()
