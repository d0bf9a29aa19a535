"""C sources of the package as loaded libraries, for what is much faster than Python or torch.

A source is compiled when it is first needed, with the compiler of the machine, and kept beside the fetched datasets, in
a folder that nobody else can write to: whatever is found there is run. Without a compiler, or with TRIPLESHOT_NATIVE=0
in the environment, nothing is said and the plain code does the work.
"""

import ctypes
import hashlib
import logging
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from tripleshot.errors import TripleshotError
from tripleshot.files.atomic import cache_dir, write_file

logger = logging.getLogger(__name__)
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fPIC")
TARGETS = (("-march=native",), ())  # some compilers cannot ask the machine what it is


def is_wanted() -> bool:
    """Tell whether the environment allows native code."""
    return os.environ.get("TRIPLESHOT_NATIVE") != "0"


def load_library(package: str, name: str) -> ctypes.CDLL | None:
    """Return the compiled form of `name`.c of a package, or None where it cannot be had."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return None
    found = [file for folder in (package, __name__.rpartition(".")[0]) for file in files(folder).iterdir()]
    sources = {file.name: file.read_bytes() for file in found if file.name.endswith((".h", ".c"))}
    for target in TARGETS:
        try:
            return _load(sources, name, [compiler, *FLAGS, *target])
        except (OSError, subprocess.CalledProcessError, TripleshotError):
            continue
    return None


@contextmanager
def private_folder(folder: Path) -> Iterator[Path | None]:
    """Give a folder that belongs to the user alone, made where it is missing; None if it belongs to somebody else.

    It is held open meanwhile: who can write to a folder above it can put another in its place, but not in that of the
    path that is given.
    """
    if not hasattr(os, "geteuid"):  # Windows, where a user's folders are private
        yield folder
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        if os.fstat(held).st_uid == os.geteuid():
            os.fchmod(held, 0o700)
            path = Path(f"/proc/self/fd/{held}")
            yield path if path.exists() else folder
        else:
            yield None
    finally:
        os.close(held)


def _load(sources: dict[str, bytes], name: str, command: list[str]) -> ctypes.CDLL:
    """Load the library, made before or now; its name tells what it was made from, and what it must contain."""
    abilities = _run([*command, "-dM", "-E", "-x", "c", os.devnull])  # of the compiler and the processor
    key = _digest(b"".join(sources[file] for file in sorted(sources)) + abilities + repr(command).encode())
    with private_folder(cache_dir() / "native") as folder, tempfile.TemporaryDirectory() as aside:
        for kept in folder.glob(f"{name}-{key}-*.so") if folder else ():
            if _is_private(kept) and kept.stem.endswith(_digest(kept.read_bytes())):
                return ctypes.CDLL(str(kept))
        made = _compile(sources, name, command, Path(aside))
        if folder is None:
            logger.warning("%s: not a folder of your own; what is compiled is not kept", cache_dir() / "native")
            return ctypes.CDLL(str(made))
        content = made.read_bytes()
        path = folder / f"{name}-{key}-{_digest(content)}.so"
        write_file(path, content)
        path.chmod(0o600)
        return ctypes.CDLL(str(path))


def _compile(sources: dict[str, bytes], name: str, command: list[str], folder: Path) -> Path:
    for file, content in sources.items():
        (folder / file).write_bytes(content)
    made = folder / f"{name}.so"
    _run([*command, "-shared", str(folder / f"{name}.c"), "-o", str(made), "-lm"])
    return made


def _is_private(path: Path) -> bool:
    """Tell whether a file is the user's own, and others cannot have written to it."""
    about = path.lstat()
    is_own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    return stat.S_ISREG(about.st_mode) and is_own and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
