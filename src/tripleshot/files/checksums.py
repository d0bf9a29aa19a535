"""SHA-256 of files and JSON documents: a flipped bit is noticed where it would change an answer without a word.

A document carries its own checksum, so that it and its content are replaced in one step. What was written before there
were checksums has none, and is read as it is.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tripleshot.errors import InputError

CHECKSUM = "checksum"


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with its checksum."""
    plain = json.loads(json.dumps(document))
    return {**plain, CHECKSUM: _hash_document(plain)}


def read_document(path: Path) -> Any:  # noqa: ANN401 (whatever JSON can hold)
    """Read a JSON file, and check and leave out its checksum if it has one.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: it is not readable, or not what was written.
    """
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable: {error}") from None
    if isinstance(document, dict) and CHECKSUM in document:
        expected = document.pop(CHECKSUM)
        if expected != _hash_document(document):
            raise changed(path, f"; if you changed it yourself, take out its {CHECKSUM!r}")
    return document


def changed(path: Path, advice: str = "") -> InputError:
    """Return the error that a file is not what was written."""
    return InputError(f"{path}: changed since it was written: its checksum is another one{advice}")


def _hash_document(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
