"""Archives from untrusted sources, unpacked so that only plain files appear, and only inside the given folder."""

import errno
import lzma
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, cast

from tripleshot.errors import FetchError

MAX_UNPACKED_BYTES = 32 << 30
MAX_UNPACKED_FILES = 100_000
COPY_BYTES = 1 << 20

# What the standard library's readers raise on damaged input. An OSError is the archive's fault if it has no number or
# one of those below (a seek to nowhere, a name no file can have); otherwise it is the disk's.
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,  # an encrypted zip; NotImplementedError for an unknown compression
    OSError,
)
DAMAGE_NUMBERS = (
    None,
    errno.EINVAL,
    errno.EILSEQ,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
)


@dataclass(frozen=True)
class _Member:
    """One entry of an archive, whichever kind the archive is.

    Attributes:
        name: The path it asks for, not to be trusted.
        size: Bytes it unpacks to; both readers stop there, whatever the data hold.
        is_folder: It is a folder; folders are made as files need them.
        is_file: It is a plain file: no link, no device.
        open: Starts reading its content.
    """

    name: str
    size: int
    is_folder: bool
    is_file: bool
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar (plain, or compressed in a way this Python reads) or zip into `folder`, told apart by content.

    Raises FetchError for a damaged archive and for one that holds links, devices or paths that lead outside; an OSError
    that comes out is the disk's.
    """
    try:
        with archive.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        if is_zip:
            with zipfile.ZipFile(archive) as opened_zip:
                _write(_zip_members(opened_zip), folder)
        else:
            with tarfile.open(archive, "r:*") as opened_tar:
                _write(_tar_members(opened_tar), folder)
    except FetchError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in DAMAGE_NUMBERS:
            raise
        first_line = str(error).partition("\n")[0].rstrip(":")
        raise FetchError(f"the archive is damaged, or no tar or zip that this Python reads ({first_line})") from error


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for entry in archive.infolist():
        kind = stat.S_IFMT(entry.external_attr >> 16)  # 0 where the zip was made without Unix modes
        yield _Member(
            name=entry.filename,
            size=entry.file_size,
            is_folder=entry.is_dir(),
            is_file=kind in (0, stat.S_IFREG),
            open=lambda entry=entry: archive.open(entry),
        )


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for entry in archive:
        yield _Member(
            name=entry.name,
            size=entry.size,
            is_folder=entry.isdir(),
            is_file=entry.isreg(),
            open=lambda entry=entry: cast(IO[bytes], archive.extractfile(entry)),
        )


def _write(members: Iterable[_Member], folder: Path) -> None:
    """Write the members in one pass; each is checked before its first byte is written."""
    unpacked_bytes = 0
    folder.mkdir(parents=True, exist_ok=True)
    for count, member in enumerate(members):
        target = folder / _safe_path(member.name)
        unpacked_bytes += member.size
        if member.size < 0 or unpacked_bytes > MAX_UNPACKED_BYTES or count >= MAX_UNPACKED_FILES:
            raise FetchError(
                f"the archive unpacks to more than {MAX_UNPACKED_BYTES:,} bytes or {MAX_UNPACKED_FILES:,} files"
            )
        if member.is_folder:
            continue
        if not member.is_file:
            raise FetchError(f"the archive holds {member.name!r}, a link or a device; only plain files are unpacked")
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as content, target.open("wb") as file:
            shutil.copyfileobj(content, file, COPY_BYTES)


def _safe_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive or "\0" in name:
        raise FetchError(f"the archive holds {name!r}, a path that leads outside of it")
    return path
