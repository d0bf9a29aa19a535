"""Downloads of datasets: from the web, a folder or an archive, verified first and then put in place in one step."""

import logging
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.progress import Progress

from tripleshot.datasets.download.http import discard, download, is_begun
from tripleshot.datasets.download.sources import FetchJob, RemoteDataset, collect, find_faults, part_of
from tripleshot.errors import FetchError, TripleshotError
from tripleshot.files.atomic import is_abandoned, remove_abandoned, swap
from tripleshot.files.locks import file_lock, lock_of

__all__ = ["RemoteDataset", "fetch", "find_faults"]

logger = logging.getLogger(__name__)


def fetch(
    dataset: RemoteDataset,
    destination: Path,
    source: str | None = None,
    *,
    progress: Progress | None = None,
    attempts: int = 5,
    wait: float = 1.0,
) -> Path:
    """Make `destination` hold the verified dataset, and return it; if it already does, nothing else happens.

    Args:
        dataset: what to fetch and how to recognize it.
        destination: the dataset's own folder. A broken one is replaced, but only once the new copy is verified.
        source: a folder, an archive, or the URL of either, instead of `dataset.urls`. A URL of a folder ends with `/`.
        progress: where downloads are shown; None shows nothing.
        attempts: how often to try a download that is interrupted, each time continuing where it stopped.
        wait: seconds before the second attempt, doubled before each further one.

    Raises:
        FetchError: it did not arrive whole and verified; `destination` is as it was.
        InputError: `source` is nothing that can be fetched from.
    """
    folder = Path(os.path.realpath(destination))  # a linked folder is replaced where it really is
    try:
        if not find_faults(dataset, folder):
            _clear(dataset, folder)
            return destination
        if folder.exists() and not folder.is_dir():
            raise FetchError(f"{destination} is a file, not a folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(lock_of(folder)):
            remove_abandoned(folder)
            faults = find_faults(dataset, folder)
            if faults and folder.exists():
                logger.warning("%s is broken and will be replaced: %s", destination, "; ".join(faults))
            if faults:
                shown = Progress(disable=True) if progress is None else progress
                job = FetchJob(dataset, folder, partial(download, progress=shown, attempts=attempts, wait=wait))
                _install(job, dataset.urls if source is None else (source,))
    except TripleshotError:
        raise
    except OSError as error:
        raise FetchError(f"{dataset.name} could not be put into {destination}: {error}") from error
    return destination


def _parts(dataset: RemoteDataset, folder: Path) -> list[Path]:
    """Return where downloads of a dataset are kept until they are whole."""
    return [part_of(folder), *(part_of(folder, name) for name in dataset.files)]


def _clear(dataset: RemoteDataset, folder: Path) -> None:
    """Remove what a process that was killed has left beside a whole dataset, if anything."""
    left = [part for part in _parts(dataset, folder) if is_begun(part)]
    if left or is_abandoned(folder):
        with suppress(OSError), file_lock(lock_of(folder)):
            remove_abandoned(folder)
            for part in left:
                discard(part)


def _install(job: FetchJob, sources: tuple[str, ...]) -> None:
    """Put the dataset in place from the first of `sources` that has it."""
    failures = []
    destination = job.destination
    for source in sources:
        with TemporaryDirectory(
            prefix=f".{destination.name}-", dir=destination.parent, ignore_cleanup_errors=True
        ) as name:
            workspace = Path(name)
            try:
                folder = collect(job, source, workspace / "new")
            except FetchError as error:
                failures.append(str(error))
                continue
            swap(folder, destination)
        for part in _parts(job.dataset, destination):
            discard(part)
        return
    reasons = "; ".join(failures) or "no address is known"
    raise FetchError(
        f"{job.dataset.name} could not be fetched: {reasons}. If you have the files or know a mirror, run "
        f"`tripleshot data fetch {job.dataset.name} --from FOLDER, ARCHIVE or URL`."
    )
