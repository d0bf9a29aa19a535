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
    return open_document(document, path)


def open_document(document: Any, where: Path | str) -> Any:  # noqa: ANN401 (whatever JSON can hold)
    """Check and leave out the checksum of what was read, if it has one.

    Args:
        document: what was read.
        where: from, for the error.

    Raises:
        InputError: it is not what was written.
    """
    if not isinstance(document, dict) or CHECKSUM not in document:
        return document
    content = {name: value for name, value in document.items() if name != CHECKSUM}
    if document[CHECKSUM] != _hash_document(content):
        raise changed(where, f"; if you changed it yourself, take out its {CHECKSUM!r}")
    return content


def changed(path: Path | str, advice: str = "") -> InputError:
    """Return the error that a file is not what was written."""
    return InputError(f"{path}: changed since it was written: its checksum is another one{advice}")


def _hash_document(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
