"""The files of a dataset from one source, on this machine or on the web, into a folder; nothing is taken unverified."""

import logging
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
from tripleshot.files.checksums import hash_file

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RemoteDataset:
    """What is known about a dataset that can be downloaded.

    Attributes:
        name: what the user calls it.
        urls: where it is published, tried in order: archives, or folders of single files, which end with `/`.
        files: every file it must have, with its SHA-256, or None where it is enough that the file is there.
        marker: the file that tells which folder inside an archive is the dataset's.
        archive_sha256: the hash of the archive at `urls`; a copy from elsewhere may be packed differently.
    """

    name: str
    urls: tuple[str, ...]
    files: Mapping[str, str | None]
    marker: str = "path_graph"
    archive_sha256: str | None = None


@dataclass(frozen=True)
class FetchJob:
    """What stays the same from source to source.

    Attributes:
        dataset: what to fetch.
        destination: the folder it goes to.
        download: downloads a URL into a file.
    """

    dataset: RemoteDataset
    destination: Path
    download: Callable[[str, Path], None]

    def part(self, name: str = "") -> Path:
        """Return where a download is kept until it is whole: the archive, or the file `name`."""
        return part_of(self.destination, name)


def part_of(destination: Path, name: str = "") -> Path:
    """Return where a download for a folder is kept until it is whole: the archive, or the file `name`."""
    infix = f".{name.replace('/', '-')}" if name else ""
    return destination.with_name(f"{destination.name}{infix}.part")


def find_faults(dataset: RemoteDataset, folder: Path) -> list[str]:
    """Say what is wrong with each file in `folder`; an empty list means that the dataset is whole."""
    if not folder.is_dir():
        return ["there is no such folder"]
    faults = [_fault(folder / name, name, sha256) for name, sha256 in dataset.files.items()]
    return [fault for fault in faults if fault]


def collect(job: FetchJob, source: str, workspace: Path) -> Path:
    """Bring the dataset from one source into a folder inside `workspace`, verified, and return that folder."""
    local = _local_path(source)
    if local is None and source.endswith("/"):
        return _download_files(job, source, workspace)
    if local is None:
        return _download_archive(job, source, workspace)
    with error_context(source):
        return _copy(job.dataset, local, workspace) if local.is_dir() else _unpack(job.dataset, local, workspace)


def _local_path(source: str) -> Path | None:
    """Return the folder or archive on this machine that `source` names; None if it is on the web."""
    path = Path(source)
    if not path.exists():
        try:
            url = urlsplit(source)
        except ValueError as error:
            raise InputError(f"{source} is not an address: {error}") from error
        if url.scheme in ("http", "https") and url.netloc:
            return None
        if url.scheme == "file" and url.netloc in ("", "localhost"):
            path = Path(url2pathname(url.path))
        elif "://" in source:
            raise InputError(f"{source}: only http, https and file addresses can be fetched")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path}: there is no such folder or archive")
    return path


@contextmanager
def error_context(source: str, part: Path | None = None) -> Generator[None]:
    """Say in an error where wrong content came from, and discard the download: the next run starts anew."""
    try:
        yield
    except FetchError as error:
        if part is not None:
            discard(part)
        raise FetchError(f"{source}: {error}") from error


def _download_files(job: FetchJob, url: str, folder: Path) -> Path:
    files = job.dataset.files
    for name, sha256 in files.items():
        logger.info("downloading %s", url + quote(name))
        job.download(url + quote(name), job.part(name))
        with error_context(url, job.part(name)):
            _require_sound([_fault(job.part(name), name, sha256)])
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        job.part(name).rename(folder / name)
    return folder


def _download_archive(job: FetchJob, url: str, workspace: Path) -> Path:
    dataset, part = job.dataset, job.part()
    logger.info("downloading %s", url)
    job.download(url, part)
    with error_context(url, part):
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
    files = [path for path in folder.rglob("*") if path.is_file()]  # listed before the first copy is made
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
