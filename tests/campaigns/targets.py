"""What a fuzzer reads."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """What reads an input.

    Attributes:
        name: for the figures.
        valid: an input that is read.
        read: reads another one; raises an error of ours, or none.
        cost: how much longer than a small file it takes.
    """

    name: str
    valid: bytes
    read: Callable[[bytes], object]
    cost: int = 1


def file_target(path: Path, valid: bytes, read: Callable[[Path], object], name: str = "", cost: int = 1) -> Target:
    """Return what writes a file and reads it."""

    def read_content(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    return Target(name or path.name, valid, read_content, cost)
