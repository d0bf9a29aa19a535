"""Locks between processes: one of them builds an index or writes a folder, others wait or are told who does.

The system frees a lock when its process ends, however it ends: a lock file that is left behind holds up nobody. Where
the system or the file system has no such locks, everybody goes on.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tripleshot.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def lock_of(folder: Path) -> Path:
    """Return the lock file of a folder, beside it: the folder itself need not be there yet, and may be replaced."""
    whole = Path(os.path.realpath(folder))
    return whole.parent / f".{whole.name}.lock"


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting while another process holds it."""
    file = _acquire(path, waits=True)
    try:
        yield
    finally:
        _release(file, path)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Be the only one who writes a folder; folders above it that were made for the lock go again if they stay empty.

    Raises:
        InputError: another process writes it; says which.
    """
    path, file = lock_of(folder), None
    made = [above for above in path.parents if not above.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _acquire(path, waits=False)
    except BlockingIOError:
        raise InputError(f"{folder}: {_holder(path)} is writing it; wait for it, or choose another folder") from None
    except OSError:  # no lock can be made here; whether the folder can be written is found out by writing
        pass
    try:
        yield
    finally:
        if file is not None:
            _release(file, path)
        with suppress(OSError):  # what is in use is not empty
            for above in made:
                above.rmdir()


def _acquire(path: Path, waits: bool) -> IO[bytes]:
    """Open and lock a file, and write down by whom; the last holder may have removed the one that was opened."""
    file = _open_locked(path, waits)
    while not _is_still_at(file, path):
        file.close()
        file = _open_locked(path, waits)
    with suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
    return file


def _open_locked(path: Path, waits: bool) -> IO[bytes]:
    file = path.open("ab")
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        except OSError:  # a file system without locks
            pass
    return file


def _is_still_at(file: IO[bytes], path: Path) -> bool:
    """Tell whether the locked file is the one that others would lock now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _release(file: IO[bytes], path: Path) -> None:
    with file, suppress(OSError):  # Windows keeps a file that is open
        path.unlink()


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except (OSError, ValueError):
        return "another process"
