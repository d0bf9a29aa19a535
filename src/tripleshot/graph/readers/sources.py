"""Files to read from, packed or not, and how readers speak of what they find there: in one line each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import pyarrow as pa

from tripleshot.errors import InputError, warn

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
MAX_TRIPLES = 100_000_000  # of a server or a database, unless more are asked for

Progress = Callable[[int, int | None], None]
"""Is told how many triples have come, and of how many if that is known."""


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


def split_address(url: str) -> SplitResult:
    """Return the parts of an address of a server, which has no password: it would be in logs."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_whole = None, False
    if parts is None or not is_whole:
        raise InputError("the address of a server has no host, or a broken port")
    if parts.username is not None or parts.password is not None:
        raise InputError("an address with a user or a password ends up in logs; give them apart from it")
    return parts


def warn_stopped(place: str, num_triples: int) -> None:
    """Say that there may be more than was asked for."""
    warn(f"{place}: stopped at {num_triples:,} triples, as max_triples says; there may be more")


def warn_skipped(place: str, count: int, noun: str) -> None:
    """Say how much was left out, once, with the place of the first."""
    warn(f"{place}: {noun} skipped" if count == 1 else f"{place}: {count:,} {noun}s skipped, the first here")


def reason(error: BaseException) -> str:
    """Return another library's message without its trail of details."""
    lines = str(error).strip().splitlines()
    return shorten(lines[0] if lines else type(error).__name__, limit=200)


def shorten(text: str, limit: int = 60) -> str:
    """Cut text to what fits in a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
