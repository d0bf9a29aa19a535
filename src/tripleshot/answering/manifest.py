"""The manifest of a folder of answers: what was asked, and which partitions are finished.

One JSON object per line: the first is the question, each other one a finished partition. A line is added once the file
of its partition is on the disk, so that whatever ends a run takes nothing with it that is finished.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tripleshot.errors import InputError, TripleshotError
from tripleshot.files.atomic import write_file
from tripleshot.files.checksums import CHECKSUM, hash_file, seal_document

logger = logging.getLogger(__name__)

MANIFEST = "_manifest.jsonl"  # whoever reads a folder of Parquet files leaves out what begins so
FORMAT = 1
PREFIX, SUFFIX = "part-", ".parquet"


@dataclass(frozen=True)
class Partition:
    """A finished partition.

    Attributes:
        number: from 0, in the order of asking.
        num_asked: how many entities it has answers for.
        sha256: of its file.
    """

    number: int
    num_asked: int
    sha256: str

    @staticmethod
    def name_of(number: int) -> str:
        """Return the name of the file of a partition; names are in the order of asking."""
        return f"{PREFIX}{number:06}{SUFFIX}"


@dataclass(frozen=True, eq=False)
class Manifest:
    """What is finished of a folder of answers; one process at a time writes it.

    Attributes:
        folder: of the answers.
        header: the question, with a checksum.
        finished: partitions by number.
    """

    folder: Path
    header: dict[str, Any]
    finished: dict[int, Partition] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        folder: Path,
        question: Mapping[str, Any],
        differences: Callable[[Mapping[str, Any], Mapping[str, Any]], str],
    ) -> "Manifest":
        """Begin a folder of answers, or go on with one: a file that is not what the manifest says is done again.

        Args:
            folder: need not be there.
            question: all that the answers follow from.
            differences: names what is different in two questions.

        Raises:
            InputError: the folder has answers to another question, or something else.
        """
        path = folder / MANIFEST
        header = json.loads(json.dumps({"format": FORMAT, "question": question}))
        found: list[Any] = []
        if path.exists():
            lines = _read_lines(path)
            _require_same(path, lines[0], header, differences)
            found = [_read_partition(line) for line in lines[1:]]
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: is not a folder of answers, and not empty; choose another one for the answers")
        manifest = cls(folder, seal_document(header))
        manifest.remove_abandoned()
        for partition in filter(None, found):
            file = folder / Partition.name_of(partition.number)
            if file.is_file() and hash_file(file) == partition.sha256:
                manifest.finished[partition.number] = partition
            else:
                logger.warning("%s: missing or changed since it was written; it is answered again", file)
        manifest.write()
        return manifest

    def write(self) -> None:
        """Write the whole manifest, partitions in the order of asking."""
        rows = [self.header, *(asdict(partition) for _, partition in sorted(self.finished.items()))]
        write_file(self.folder / MANIFEST, "".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def add(self, partition: Partition) -> None:
        """Write down that a partition is finished, and wait until that is on the disk."""
        path = self.folder / MANIFEST
        try:
            with path.open("ab") as file:
                file.write(f"{json.dumps(asdict(partition))}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise TripleshotError(f"{path}: cannot be written: {error.strerror or error}") from None
        self.finished[partition.number] = partition

    def remove_abandoned(self) -> None:
        """Remove what workers that died have left of their writing."""
        if self.folder.is_dir():
            for left in self.folder.glob(f".{PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)


def _read_lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: not readable: {error.strerror or error}") from None


def read_manifest(folder: Path) -> tuple[dict[str, Any], list[Partition]]:
    """Return the question of a folder of answers, and its finished partitions in the order of asking.

    Raises:
        InputError: there is no manifest, or it cannot be read.
    """
    first, *rest = _read_lines(folder / MANIFEST)
    partitions = {found.number: found for found in map(_read_partition, rest) if found is not None}
    return _read_question(folder / MANIFEST, first), [partitions[number] for number in sorted(partitions)]


def _require_same(
    path: Path,
    line: bytes,
    header: Mapping[str, Any],
    differences: Callable[[Mapping[str, Any], Mapping[str, Any]], str],
) -> None:
    """Refuse to put answers to two questions into one folder."""
    if different := differences(_read_question(path, line), header["question"]):
        raise InputError(f"{path.parent}: has the answers to another question: {different}; choose another folder")


def _read_question(path: Path, line: bytes) -> dict[str, Any]:
    """Read the first line of a manifest."""
    try:
        found = json.loads(line)
        checksum = found.pop(CHECKSUM)
        if seal_document(found)[CHECKSUM] == checksum and found["format"] == FORMAT:
            return found["question"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise InputError(f"{path}: not a readable manifest; choose another folder for the answers")


def _read_partition(line: bytes) -> Partition | None:
    """Read a line; one that was not written whole is no partition."""
    try:
        found = Partition(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found.number, int) and isinstance(found.num_asked, int) else None
