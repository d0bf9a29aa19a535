"""A dataset from the web, a folder or an archive into its own folder: verified first, then put in place at once."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from tripleshot.atomic import swap
from tripleshot.datasets.download.http import discard, download
from tripleshot.datasets.download.locking import alone
from tripleshot.datasets.download.sources import Errand, RemoteDataset, find_faults, gather, hash_file
from tripleshot.errors import FetchError, TripleshotError

__all__ = ["RemoteDataset", "fetch", "find_faults", "hash_file"]

ELSEWHERE = "Get the files from elsewhere (a colleague, a mirror) and pass --from FOLDER, ARCHIVE or URL."


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
        dataset: What to fetch and how to recognise it.
        destination: The dataset's own folder. A broken one is replaced, but only once the new copy is verified.
        source: A folder, an archive, or the URL of either, instead of `dataset.urls`. A URL of a folder ends with `/`.
        progress: Where to show downloads; by default a bar on the terminal, and nothing if there is no terminal.
        attempts: How often to try a download that breaks off, each time continuing where it stopped.
        wait: Seconds before the second attempt, doubled before each further one.

    Raises:
        FetchError: It did not arrive whole and verified; `destination` is as it was.
        InputError: `source` is nothing that can be fetched from.
    """
    home = Path(os.path.realpath(destination))  # a linked folder is replaced where it really is
    try:
        if not find_faults(dataset, home):
            return destination
        if home.exists() and not home.is_dir():
            raise FetchError(f"{destination} is a file, not a folder")
        home.parent.mkdir(parents=True, exist_ok=True)
        with alone(home.with_name(f".{home.name}.lock")), _shown(progress) as shown:
            faults = find_faults(dataset, home)
            if faults and home.exists():
                text = f"{destination} is broken and will be replaced: {'; '.join(faults)}"
                shown.console.print(text, markup=False, highlight=False, soft_wrap=True)
            if faults:
                bring = partial(download, progress=shown, attempts=attempts, wait=wait)
                _install(Errand(dataset, home, bring), dataset.urls if source is None else (source,))
    except TripleshotError:
        raise
    except OSError as error:
        raise FetchError(f"{dataset.name} could not be put into {destination}: {error}") from error
    return destination


@contextmanager
def _shown(progress: Progress | None) -> Generator[Progress]:
    if progress is not None:
        yield progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as own:
        yield own


def _install(errand: Errand, places: tuple[str, ...]) -> None:
    """Put the dataset in place from the first of `places` that has it."""
    failures = []
    home = errand.home
    for place in places:
        with TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent, ignore_cleanup_errors=True) as name:
            workspace = Path(name)
            try:
                folder = gather(errand, place, workspace / "new")
            except FetchError as error:
                failures.append(str(error))
                continue
            swap(folder, home, aside=workspace / "old")
        for part in (errand.part(), *map(errand.part, errand.dataset.files)):
            discard(part)
        return
    reasons = "; ".join(failures) or "no address is known"
    raise FetchError(f"{errand.dataset.name} could not be fetched: {reasons}. {ELSEWHERE}")
