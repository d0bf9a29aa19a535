"""What the commands that ask have in common: examples, candidates and who answers, as words of the command line."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tripleshot.answering.examples import Pair, read_examples
from tripleshot.answering.export import EXPORT_SUFFIXES
from tripleshot.answering.ranking import Candidates
from tripleshot.errors import InputError
from tripleshot.workers.processes import run_in_processes
from tripleshot.workers.ray_cluster import run_on_cluster
from tripleshot.workers.work import Crew

Several = Annotated[list[str] | None, Parameter(negative=())]
Files = Annotated[list[Path] | None, Parameter(negative=())]
Flag = Annotated[bool, Parameter(negative=())]
OPENING = "getting to know the graph"


def read_pairs(pairs: list[str] | None, file: Path | None) -> tuple[Pair, ...] | None:
    """Return the examples that were typed and those of a file; None if there are none."""
    return (*map(split_example, pairs or []), *(read_examples(file) if file else [])) or None


def choose_crew(out: str | None, workers: int | None, cluster: str | None) -> Crew | None:
    """Return who answers into a folder, None where answers go to one file or to the terminal."""
    if out is None and (workers or cluster):
        raise InputError("several processes write to a folder: say which with --out answers/")
    if out is None or not (workers or cluster or out.endswith(("/", os.sep)) or Path(out).is_dir()):
        return None
    if Path(out).suffix in EXPORT_SUFFIXES and not Path(out).is_dir():
        raise InputError(f"{out}: answers in partitions are written to a folder, such as {Path(out).stem}/")
    if cluster is not None:
        return partial(run_on_cluster, address=cluster, num_workers=workers)
    return partial(run_in_processes, num_workers=workers or 1)


def split_example(example: str) -> Pair:
    """Take "HEAD | TAIL" apart; names may have a bar without spaces around it."""
    parts = example.split(" | ") if " | " in example else example.split("|")
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise InputError(f'--example: expected "HEAD | TAIL", found {example!r}')
    return parts[0].strip(), parts[1].strip()


def chosen_candidates(given: list[str] | None) -> Candidates:
    """Return what could be an answer, as it was typed."""
    if given is None or given == ["open"]:
        return "open"
    return "all" if given == ["all"] else tuple(given)
