"""Results of evaluations as files: each has the figures, and everything that is needed to get them again."""

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tripleshot.datasets.dataset import CandidateMode, FewShotDataset, Split
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import Evaluation
from tripleshot.evaluation.ranks import TIE_RULES, summarize
from tripleshot.files.atomic import write_file

RUNS = "runs"  # in the folder of a comparison, the folder with one folder per run
RESULT = "result.json"  # in the folder of a run

Result = dict[str, Any]
"""The result of one run, with the fields that `describe` gives it."""


@dataclass(frozen=True)
class EvaluationSpec:
    """What was evaluated.

    Attributes:
        method: its name in the table of methods.
        shots: K, the number of examples per relation.
        split: the tasks whose queries were ranked.
        candidates: which tails were ranked.
        seed: of everything random; methods without training do not use it.
        config: the settings of the method.
        training: how it was trained: command, commit, seconds, learning curve; empty for methods without training.
    """

    method: str
    shots: int
    split: Split
    candidates: CandidateMode = "benchmark"
    seed: int = 0
    config: dict[str, Any] | None = None
    training: dict[str, Any] | None = None


def describe(evaluation: Evaluation, dataset: FewShotDataset, spec: EvaluationSpec) -> Result:
    """Return the result as a JSON document.

    `micro`, `macro` and `relations` follow the pessimistic tie rule. The other tie rules are below `ties`, the queries
    with few neighbors below `long_tail`.
    """
    ranks = evaluation.ranks
    summaries = {rule: asdict(summarize(ranks, rule)) for rule in TIE_RULES}
    long_tail = dataset.long_tail(np.stack([ranks.heads, ranks.tails], axis=1))
    return {
        "method": spec.method,
        "dataset": dataset.name,
        "data_hash": dataset.content_hash,
        "shots": spec.shots,
        "split": spec.split,
        "candidates": spec.candidates,
        "seed": spec.seed,
        "config": spec.config or {},
        **({"training": spec.training} if spec.training else {}),
        "command": command(),
        "commit": commit(),
        "version": version("tripleshot"),
        "seconds": round(evaluation.seconds, 3),
        "queries": len(ranks),
        **summaries["pessimistic"],
        "ties": {rule: summaries[rule] for rule in TIE_RULES if rule != "pessimistic"},
        "long_tail": {
            "queries": int(long_tail.sum()),
            **(asdict(summarize(ranks.where(long_tail))) if long_tail.any() else {}),
        },
    }


def describe_environment() -> dict[str, Any]:
    """Return the running command, the commit and version of the source, and the machine."""
    import torch  # nobody else here waits for it

    return {
        "command": command(),
        "commit": commit(),
        "version": version("tripleshot"),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "torch": version("torch"),
        },
    }


def command() -> str:
    """Return the running command line, quoted for a shell."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def commit() -> str | None:
    """Return the git commit of the running source, with "+changes" if it was edited; None if it is an installation."""
    source = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=source, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", "--", Path(__file__).name):
            return None
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def write_json(document: dict[str, Any], path: Path) -> None:
    """Write a document, indented; the file is the old one or the whole new one."""
    write_file(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def write_json_lines(documents: Iterable[dict[str, Any]], path: Path) -> None:
    """Write one minified line per document."""
    lines = (json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n" for document in documents)
    write_file(path, "".join(lines).encode())


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON document per line, or with a single document if its name ends in .json."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable: {error}") from None
    lines = [text] if path.suffix == ".json" else text.split("\n")
    documents = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            documents.append(json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not readable as JSON: {error}") from None
    return documents


def read_results(path: Path) -> list[Result]:
    """Read results from a .jsonl file, a .json file with a single one, or a folder with runs that are finished."""
    if path.is_dir():
        return [result for file in sorted(path.glob(f"{RUNS}/*/{RESULT}")) for result in read_json_lines(file)]
    return read_json_lines(path)
