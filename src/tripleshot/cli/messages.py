"""What the command line says beside its results: log records, warnings and errors, as many as were asked for."""

import logging
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields

from tripleshot.cli.terminal import open_console
from tripleshot.errors import InputWarning

logger = logging.getLogger("tripleshot")
LEVELS = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}
STYLES = {logging.ERROR: "red", logging.WARNING: "yellow", logging.INFO: "cyan", logging.DEBUG: "dim"}
ARGUMENTS = {
    'literals="keep"': "--literals keep",
    'blank_nodes="server"': "--blank-nodes server",
    "overwrite=True": "--overwrite",
    "columns=(head, relation, tail)": "--columns HEAD RELATION TAIL",
    "columns=": "--columns",
    "header=False": "--no-header",
    "--data on the command line, data=... in Python": "--data",
}
"""Arguments that the library's messages name, as flags."""
CALL = re.compile(r" or load_dataset\('[^']*', fetch=True\)")  # beside the command that does the same
SPLITTING = ("min_triples", "max_triples", "num_valid", "num_test", "overlap_threshold")
"""Arguments that are flags of `data make`, whatever command has found them wrong."""
BOUNDS = "change min_triples or max_triples"


class TerminalHandler(logging.Handler):
    """Writes each record as one line to stderr: its level, a colon and the message."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        show(record.levelno, record.getMessage())


def show(level: int, message: str) -> None:
    """Write one message to stderr; what the user typed is no markup, and arguments of Python are named as flags."""
    console = open_console(stderr=True)
    console.print(f"{logging.getLevelName(level).lower()}:", style=STYLES.get(level), end=" ")
    console.print(with_flags(message, sys.argv[1:]), markup=False, soft_wrap=True)


def with_flags(message: str, words: Sequence[str]) -> str:
    """Return a message of the library in the words of the command line.

    Args:
        message: which may name arguments of Python, such as num_negatives or literals="keep".
        words: of the command; a flag among them is named as it was typed.
    """
    message = CALL.sub("", message)
    for argument, flag in ARGUMENTS.items():
        message = message.replace(argument, flag)
    command = [word for word in words if not word.startswith("-")]
    if command[:2] != ["data", "make"]:
        message = message.replace(BOUNDS, f"{BOUNDS} of `tripleshot data make`")
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    names = {name: f"--{name.replace('_', '-')}" for name in SPLITTING}
    names |= {name: f"--{name.replace('_', '-')}" for name in (_settings() if command[:1] == ["train"] else ())}
    names |= {flag[2:].replace("-", "_"): flag for flag in flags if "-" in flag[2:]}
    return re.sub(r"\w+", lambda found: names.get(found[0], found[0]), message)


def _settings() -> Iterator[str]:
    """Give the settings of methods that are no plain words: each is a flag of `train`, and messages name them."""
    try:
        from tripleshot.cli.train import Overrides
    except ImportError:  # PyTorch is not there, which is what the message says
        return
    yield from (own.name for own in fields(Overrides) if "_" in own.name)


def set_verbosity(verbosity: int) -> None:
    """Choose what is shown: -1 results and errors alone, 0 also progress and warnings, 1 what happens, 2 details."""
    logger.setLevel(LEVELS[max(-1, min(verbosity, 2))])


def is_quiet() -> bool:
    """Tell whether only results and errors are to be shown."""
    return not logger.isEnabledFor(logging.WARNING)


@contextmanager
def terminal_logging() -> Iterator[None]:
    """Send log records and warnings to the terminal, one line each, while a command runs."""
    handler, level = TerminalHandler(), logger.level

    def log_warning(message: Warning | str, *rest: object, **more: object) -> None:
        logger.warning("%s", message)

    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = log_warning
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
