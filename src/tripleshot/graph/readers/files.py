"""Opening files, packed or not, so that whatever is wrong with one is said in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tripleshot.errors import InputError
from tripleshot.graph.readers.messages import reason

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def format_suffix(path: Path) -> str:
    """Return the suffix that tells the format: that of `graph.nt.gz` is `.nt`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def is_directory(path: Path) -> bool:
    """Return whether there is such a directory; what cannot be a path is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


@contextmanager
def open_binary(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for reading, unpacked on the way; trouble while reading it becomes an InputError."""
    try:
        with pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower())) as stream:
            yield stream
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (OSError, UnicodeError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from error
