"""C sources of the package as loaded libraries, for what is much faster than Python or torch.

A source is compiled when it is first needed, with the compiler of the machine, and kept beside the fetched datasets.
Without a compiler, or with TRIPLESHOT_NATIVE=0 in the environment, nothing is said and the plain code does the work.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from tripleshot.atomic import cache_dir, write_file
from tripleshot.errors import TripleshotError

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
            return ctypes.CDLL(str(_build(sources, name, [compiler, *FLAGS, *target])))
        except (OSError, subprocess.CalledProcessError, TripleshotError):
            continue
    return None


def _build(sources: dict[str, bytes], name: str, command: list[str]) -> Path:
    """Return the library, made before or now; its name tells what it was made from, and what it must contain."""
    abilities = _run([*command, "-dM", "-E", "-x", "c", os.devnull])  # of the compiler and the processor
    key = _digest(b"".join(sources[file] for file in sorted(sources)) + abilities + repr(command).encode())
    folder = cache_dir() / "native"
    for kept in folder.glob(f"{name}-{key}-*.so"):
        if kept.stem.endswith(_digest(kept.read_bytes())):
            return kept
    with tempfile.TemporaryDirectory() as aside:
        made = Path(aside) / f"{name}.so"
        for file, content in sources.items():
            (Path(aside) / file).write_bytes(content)
        _run([*command, "-shared", str(Path(aside) / f"{name}.c"), "-o", str(made), "-lm"])
        content = made.read_bytes()
    path = folder / f"{name}-{key}-{_digest(content)}.so"
    write_file(path, content)
    return path


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True).stdout


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
