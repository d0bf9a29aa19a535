"""A dataset's files from one place, on this machine or on the web, into a folder; nothing is taken unverified."""

import hashlib
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from tripleshot.datasets.download.archives import unpack
from tripleshot.datasets.download.http import discard
from tripleshot.errors import FetchError, InputError


@dataclass(frozen=True)
class RemoteDataset:
    """What is known about a dataset that can be downloaded.

    Attributes:
        name: What the user calls it.
        urls: Where it is published, tried in order: archives, or folders of single files, which end with `/`.
        files: Every file it must have, with its SHA-256, or None where being there is enough.
        marker: The file that tells which folder inside an archive is the dataset's.
        archive_sha256: The hash of the archive at `urls`; a copy from elsewhere may be packed differently.
    """

    name: str
    urls: tuple[str, ...]
    files: Mapping[str, str | None]
    marker: str = "path_graph"
    archive_sha256: str | None = None


@dataclass(frozen=True)
class Errand:
    """What stays the same from place to place: the dataset, the folder it goes to, and how to download a file."""

    dataset: RemoteDataset
    home: Path
    bring: Callable[[str, Path], None]

    def part(self, name: str = "") -> Path:
        """Return where a download is kept until it is whole: the archive, or the file `name`."""
        infix = f".{name.replace('/', '-')}" if name else ""
        return self.home.with_name(f"{self.home.name}{infix}.part")


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_faults(dataset: RemoteDataset, folder: Path) -> list[str]:
    """Say what is wrong with each file in `folder`; nothing means that the dataset is whole."""
    if not folder.is_dir():
        return ["there is no such folder"]
    faults = [_fault(folder / name, name, sha256) for name, sha256 in dataset.files.items()]
    return [fault for fault in faults if fault]


def gather(errand: Errand, place: str, workspace: Path) -> Path:
    """Bring the dataset from one place into a folder inside `workspace`, verified."""
    local = _local_path(place)
    if local is None and place.endswith("/"):
        return _download_files(errand, place, workspace)
    if local is None:
        return _download_archive(errand, place, workspace)
    with _blamed_on(place):
        return _copy(errand.dataset, local, workspace) if local.is_dir() else _unpack(errand.dataset, local, workspace)


def _local_path(place: str) -> Path | None:
    """Return the folder or archive on this machine that `place` names; None if it is on the web."""
    path = Path(place)
    if not path.exists():
        try:
            url = urlsplit(place)
        except ValueError as error:
            raise InputError(f"{place} is not an address: {error}") from error
        if url.scheme in ("http", "https") and url.netloc:
            return None
        if url.scheme == "file" and url.netloc in ("", "localhost"):
            path = Path(url2pathname(url.path))
        elif "://" in place:
            raise InputError(f"{place}: only http, https and file addresses can be fetched")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path}: there is no such folder or archive")
    return path


@contextmanager
def _blamed_on(place: str, part: Path | None = None) -> Generator[None]:
    """Say where wrong content came from, and do not keep the download: the next run starts clean."""
    try:
        yield
    except FetchError as error:
        if part is not None:
            discard(part)
        raise FetchError(f"{place}: {error}") from error


def _download_files(errand: Errand, url: str, folder: Path) -> Path:
    files = errand.dataset.files
    for name, sha256 in files.items():
        errand.bring(url + quote(name), errand.part(name))
        with _blamed_on(url, errand.part(name)):
            _require_sound([_fault(errand.part(name), name, sha256)])
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        errand.part(name).rename(folder / name)
    return folder


def _download_archive(errand: Errand, url: str, workspace: Path) -> Path:
    dataset, part = errand.dataset, errand.part()
    errand.bring(url, part)
    with _blamed_on(url, part):
        if url in dataset.urls:
            _require_sound([_fault(part, "the archive", dataset.archive_sha256)])
        return _unpack(dataset, part, workspace)


def _unpack(dataset: RemoteDataset, archive: Path, workspace: Path) -> Path:
    unpack(archive, workspace)
    folder = _find(dataset.marker, workspace)
    _require_sound(find_faults(dataset, folder))
    return folder


def _copy(dataset: RemoteDataset, source: Path, workspace: Path) -> Path:
    folder = _find(dataset.marker, source)
    files = [path for path in folder.rglob("*") if path.is_file()]  # all known before the first copy is made
    for file in files:
        copy = workspace / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    _require_sound(find_faults(dataset, workspace))
    return workspace


def _find(marker: str, root: Path) -> Path:
    """Return the shallowest folder that holds the file `marker`."""
    folders = [root]
    for folder in folders:  # grows while it is read: breadth first
        if (folder / marker).is_file():
            return folder
        folders += sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    raise FetchError(f"no folder in it holds the file {marker}")


def _fault(path: Path, name: str, sha256: str | None) -> str:
    if not path.is_file():
        return f"{name} is missing"
    found = sha256 and hash_file(path)
    return "" if found == sha256 else f"{name} has SHA-256 {found}, expected {sha256}"


def _require_sound(faults: list[str]) -> None:
    if any(faults):
        raise FetchError("; ".join(faults))
