"""One process at a time: who comes second waits, and then finds the work done."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold the lock file `path`, waiting for it if need be; the system frees it when the process dies.

    Where the system or the file system has no such locks, everyone passes.
    """
    file = _open_locked(path)
    while not _is_still_at(file, path):
        file.close()
        file = _open_locked(path)
    with file:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                path.unlink()


def _open_locked(path: Path) -> IO[bytes]:
    file = path.open("wb")
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _is_still_at(file: IO[bytes], path: Path) -> bool:
    """Tell whether the locked file is the one others would lock now: its last holder removed it on leaving."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
