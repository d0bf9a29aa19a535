"""A cache of its own for a test, in which every index is kept, however small."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tripleshot.graph import index_files


@contextmanager
def everything_on_disk() -> Iterator[Path]:
    """Keep indexes of any graph in a temporary folder, and give that folder."""
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPLESHOT_HOME", home)
        patch.delenv("TRIPLESHOT_INDEXES", raising=False)
        patch.setattr(index_files, "MIN_ROWS", 0)
        yield Path(home) / "indexes"


def flip_byte(file: Path, place: int = -1) -> None:
    """Damage a file without changing its size."""
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(1, 1))  # a clock may be too coarse to tell one write from the next
