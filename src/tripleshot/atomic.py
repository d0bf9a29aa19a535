"""Files and folders that appear whole or not at all, locks, and the folder where what was fetched or made is kept."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tripleshot.errors import InputError, TripleshotError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNDATED = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}  # metadata by format


def cache_dir() -> Path:
    """Return where datasets, compiled code and indexes are kept: TRIPLESHOT_HOME, or the user's cache folder."""
    if chosen := os.environ.get("TRIPLESHOT_HOME"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tripleshot"


def write_file(path: Path, content: bytes) -> None:
    """Write a file: whatever happens, it is the old one or the whole new one."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)


def write_figure(figure: "Figure", path: Path) -> None:
    """Write a matplotlib figure as PNG, SVG or PDF, by the suffix of the path.

    The same figure gives the same bytes: without dates and random names. Text in an SVG stays text.
    """
    import matplotlib as mpl  # takes half a second

    kind = path.suffix.lower().removeprefix(".")
    if kind not in UNDATED:
        raise InputError(f"{path}: a figure is a .png, .svg or .pdf file, not {path.suffix or 'without a suffix'!r}")
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tripleshot", "svg.fonttype": "none"}):
        figure.savefig(content, format=kind, dpi=160, bbox_inches="tight", pad_inches=0.1, metadata=UNDATED[kind])
    write_file(path, content.getvalue())


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, and put it in place in one step once the block has ended well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as aside:
            temporary = Path(aside) / path.name
            yield temporary
            temporary.replace(path)
    except OSError as error:
        raise TripleshotError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def new_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder to fill, and put it in place in one step once the block has ended well."""
    if folder.exists() and not overwrite:
        raise InputError(f"{folder}: exists already; choose another folder, or ask to overwrite it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise TripleshotError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield temporary
        temporary.chmod(0o755)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
            swap(temporary, folder, Path(aside) / "old")
    except OSError as error:
        raise TripleshotError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def restored(folder: Path, names: Sequence[str], unless: Callable[[Exception], bool]) -> Iterator[None]:
    """Leave a folder as it was if the block fails: what is new of these names goes, and what was there comes back.

    Args:
        folder: which need not be there yet.
        names: of the files and folders that the block writes; those of before are out of its way.
        unless: tells that an error leaves something worth keeping.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        for name in names:
            if (folder / name).exists():
                (folder / name).rename(aside / name)
    except OSError as error:
        raise TripleshotError(f"{folder}: cannot be written: {error.strerror or error}") from None
    try:
        yield
    except Exception as error:
        if not unless(error):
            for name in names:
                _remove(folder / name)
            for before in aside.iterdir():
                before.rename(folder / before.name)
            if is_new:
                with suppress(OSError):  # somebody else has written there meanwhile
                    folder.rmdir()
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def swap(folder: Path, home: Path, aside: Path) -> None:
    """Put `folder` in the place of `home` by renaming, and what was there `aside`; a failure puts it back."""
    try:
        if home.exists():
            home.rename(aside)
        folder.rename(home)
    except BaseException:
        if aside.exists() and not home.exists():
            aside.rename(home)
        raise


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting while another process holds it; the system frees it when a process dies.

    Where the system or the file system has no such locks, nobody waits.
    """
    file = _open_locked(path)
    while not _is_still_at(file, path):
        file.close()
        file = _open_locked(path)
    with file:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                path.unlink()


def _open_locked(path: Path) -> IO[bytes]:
    file = path.open("wb")
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _is_still_at(file: IO[bytes], path: Path) -> bool:
    """Tell whether the locked file is the one that others would lock now: its last holder removed it on leaving."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
