"""The log of a training: one JSON object per line, each with its own checksum, in a file that anyone can read."""

import json
from pathlib import Path
from typing import Any

from tripleshot.errors import InputError, TripleshotError
from tripleshot.files.atomic import write_file
from tripleshot.files.checksums import open_document, seal_document

LOG = "log.jsonl"
NUMBERS = ("step", "seconds", "spent", "valid_mrr", "queries")


def write_log(path: Path, row: dict[str, object] | None) -> None:
    """Append a line to the log; None starts it anew."""
    try:
        with path.open("w" if row is None else "a", encoding="utf-8") as file:
            if row is not None:
                file.write(_line(row))
    except OSError as error:
        raise TripleshotError(f"{path}: cannot be written: {error.strerror}") from None


def shorten_log(path: Path, num_lines: int) -> list[dict[str, Any]]:
    """Keep so many lines, those from before a checkpoint: a training that goes on from it writes the others again.

    Returns:
        All lines that there were.
    """
    rows = read_log(path) if path.exists() else []
    write_file(path, "".join(map(_line, rows[:num_lines])).encode())
    return rows


def describe_training(folder: Path) -> dict[str, Any]:
    """Return how long a run trained, and its MRR on the valid tasks at each validation.

    `seconds` are those of the steps alone. A run with a budget of time also says what it `spent` of it, with preparing,
    validations and checkpoints. A validation that was cut short asked fewer `queries` than others: which one was the
    best is what the log says, not what is highest.
    """
    log = read_log(folder / LOG)
    keys = ("step", "seconds", "spent", "valid_mrr", "queries")
    rows = [row for row in log if "valid_mrr" in row]
    curve = [{key: row[key] for key in keys if key in row} for row in rows]
    marked = [point for point, row in zip(curve, rows, strict=True) if row.get("is_best")]
    best = marked[-1] if marked else max(curve, key=lambda row: row["valid_mrr"], default=None)
    spent = [row["spent"] for row in log if "spent" in row]
    return {
        "seconds": max((row.get("seconds", 0.0) for row in log), default=0.0),
        **({"spent": max(spent)} if spent else {}),
        "steps": steps_of(folder),
        "best": best,
        "curve": curve,
    }


def steps_of(folder: Path) -> dict[str, int]:
    """Return how many steps each stage of a run took that is finished."""
    return {row["finished"]: row.get("step", 0) for row in read_log(folder / LOG) if "finished" in row}


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log, without one at the end that was not written whole."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        rows = [json.loads(line) for line in lines]
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a readable log: {error}") from None
    if wrong := [number for number, row in enumerate(rows, 1) if not _is_sound(row)]:
        raise InputError(f"{path}, line {wrong[0]}: not a line of a log")
    return [open_document(row, f"{path}, line {number}") for number, row in enumerate(rows, 1)]


def _line(row: dict[str, object]) -> str:
    return json.dumps(seal_document(row)) + "\n"


def _is_sound(row: Any) -> bool:  # noqa: ANN401 (whatever JSON can hold)
    if not isinstance(row, dict):
        return False
    numbers, texts = (row.get(name, 0) for name in NUMBERS), (row.get(name, "") for name in ("stage", "finished"))
    return all(isinstance(number, int | float) for number in numbers) and all(isinstance(text, str) for text in texts)
