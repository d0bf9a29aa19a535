"""Weights on disk, read as arrays or as tensors: nobody waits for torch who needs none of it.

A safetensors file carries the SHA-256 of itself in its header, as 64 digits that count as zeros: file and checksum are
replaced in one step, and no moment leaves one without the other.
"""

import hashlib
import re
from pathlib import Path
from typing import IO, Any

from safetensors import SafetensorError, safe_open

from tripleshot.errors import InputError
from tripleshot.files.checksums import changed
from tripleshot.methods.trainable import Framework

LENGTH_BYTES = 8  # a file begins with the length of its header
UNSEALED = {"sha256": "0" * 64}
"""Metadata of a file that is to be sealed."""

UNREADABLE = (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError, AttributeError)
"""What damage to a file without a checksum may raise."""

_SEAL = re.compile(rb'"sha256":"([^"]{64})"')
_BYTES_AT_ONCE = 1 << 24


def seal_tensors(path: Path) -> None:
    """Write the checksum of a file into its header, in the place that `UNSEALED` holds for it."""
    with path.open("r+b") as file:
        start, seal, digest = _read_seal(file)
        assert seal is not None
        file.seek(start)
        file.write(digest.encode())


def check_tensors(path: Path) -> None:
    """Refuse a file that is not what was written; one without a checksum passes.

    Raises:
        InputError: it was changed.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        _, seal, digest = _read_seal(file)
    if seal is not None and seal != digest:
        raise changed(path)


def _read_seal(file: IO[bytes]) -> tuple[int, str | None, str]:
    """Return where the checksum stands, what it is, and what it should be; None without one."""
    prefix = file.read(LENGTH_BYTES)
    header = file.read(min(int.from_bytes(prefix, "little"), _BYTES_AT_ONCE))
    found = _SEAL.search(header)
    if found is None:
        return 0, None, ""
    digest = hashlib.sha256(prefix + header[: found.start(1)] + b"0" * 64 + header[found.end(1) :])
    while part := file.read(_BYTES_AT_ONCE):
        digest.update(part)
    return LENGTH_BYTES + found.start(1), found[1].decode(errors="replace"), digest.hexdigest()


def read_weights(path: Path, framework: Framework = "pt") -> dict[str, Any]:
    """Read the weights of a file, by name; tensors are mapped, so that only what is used of them takes memory."""
    try:
        check_tensors(path)
        with safe_open(path, framework=framework) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{path}: not readable as weights: {error}") from None
