"""Files and folders that appear whole or not at all, and the folder where what was fetched or made is kept.

What has been put in place is on the disk, too: a power cut leaves the old or the new, as a killed process does.
"""

import ctypes
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from tripleshot.errors import InputError, TripleshotError
from tripleshot.files.locks import file_lock, folder_lock, lock_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_CURRENT_FOLDER, RENAME_EXCHANGE = -100, 2  # of Linux: linux/fcntl.h, linux/fs.h
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
            _flush(temporary)
            temporary.replace(path)
            _flush(path.parent)
    except OSError as error:
        raise TripleshotError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def new_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder to fill, and put it in place in one step once the block has ended well.

    Nobody else fills the same folder meanwhile: who tries is told which process does.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TripleshotError(f"{folder}: cannot be written: {error.strerror}") from None
    with folder_lock(folder):
        _put_back(folder)
        remove_abandoned(folder)
        if folder.exists() and not overwrite:
            raise InputError(f"{folder}: exists already; choose another folder, or ask to overwrite it")
        temporary = None
        try:
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            yield temporary
            temporary.chmod(0o755)
            swap(temporary, folder)
        except OSError as error:
            raise TripleshotError(f"{folder}: cannot be written: {error.strerror or error}") from None
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)


def remove_abandoned(path: Path) -> None:
    """Remove what a process that was killed has left of its writing of `path`, where nobody else writes it now."""
    for beside in _temporaries(path):
        shutil.rmtree(beside, ignore_errors=True)


def is_abandoned(path: Path) -> bool:
    """Tell whether something half written is beside `path`; somebody may be writing it."""
    return bool(_temporaries(path))


def _temporaries(path: Path) -> list[Path]:
    temporary = re.compile(rf"\.{re.escape(path.name)}-[a-z0-9_]{{8}}")
    try:
        return [beside for beside in path.parent.iterdir() if temporary.fullmatch(beside.name)]
    except OSError:
        return []


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


def swap(folder: Path, home: Path) -> None:
    """Put a folder in the place of `home` in one step; what was there is then in the folder's place, to be removed.

    Systems that cannot exchange two folders rename twice; what is aside in between is put back by `recover`.
    """
    for path in (*folder.rglob("*"), folder):
        _flush(path)
    if not home.exists():
        folder.rename(home)
    elif not _exchange(folder, home):
        aside = _aside(home)
        home.rename(aside)
        try:
            folder.rename(home)
        except BaseException:
            aside.rename(home)
            raise
        aside.rename(folder)
    _flush(home.parent)


def recover(home: Path) -> None:
    """Put a folder back whose replacement was interrupted, on a system that cannot exchange two folders."""
    if _aside(home).exists():
        with suppress(OSError), file_lock(lock_of(home)):
            _put_back(home)


def _put_back(home: Path) -> None:
    aside = _aside(home)
    if aside.exists() and not home.exists():
        aside.rename(home)
    elif aside.exists():
        shutil.rmtree(aside, ignore_errors=True)


def _aside(home: Path) -> Path:
    whole = Path(os.path.realpath(home))
    return whole.parent / f".{whole.name}.replaced"


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, and tell whether the system can."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # not Linux, or an old one
        return False
    here = AT_CURRENT_FOLDER
    if rename(here, os.fsencode(one), here, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):  # the kernel or the file system has no such thing
        return False
    raise OSError(number, os.strerror(number), str(other))


def _flush(path: Path) -> None:
    """Wait until a file or the names in a folder are on the disk; not every system can do so for folders."""
    if path.is_dir():
        with suppress(OSError):
            _flush_opened(path, os.O_RDONLY)
    elif path.is_file():
        _flush_opened(path, os.O_RDWR)


def _flush_opened(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
