"""What a run found, as a file: everything needed to believe the numbers and to get them again."""

import json
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tripleshot.atomic import write_file
from tripleshot.datasets.dataset import CandidateMode, FewShotDataset, Split
from tripleshot.datasets.storage import content_hash
from tripleshot.evaluation.protocol import TIE_RULES, Evaluation, Ranks, summarize


@dataclass(frozen=True)
class Setting:
    """What was evaluated.

    Attributes:
        method: its name in the table of methods.
        shots: K, the number of examples.
        split: the tasks it was asked about.
        candidates: which tails it ranked.
        seed: of everything random; training-free methods do not use it.
        config: the method's own settings.
        training: how it was trained: command, commit, seconds, learning curve; empty for what does not learn.
    """

    method: str
    shots: int
    split: Split
    candidates: CandidateMode = "benchmark"
    seed: int = 0
    config: dict[str, Any] | None = None
    training: dict[str, Any] | None = None


def describe(evaluation: Evaluation, dataset: FewShotDataset, setting: Setting) -> dict[str, Any]:
    """Return the document that stands behind every figure we print.

    `micro`, `macro` and `relations` follow the pessimistic rule; the other tie rules and the long-tail subset stand
    beside them.
    """
    ranks = evaluation.ranks
    summaries = {rule: asdict(summarize(ranks, rule)) for rule in TIE_RULES}
    long_tail = dataset.long_tail(np.stack([ranks.heads, ranks.tails], axis=1))
    return {
        "method": setting.method,
        "dataset": dataset.name,
        "data_hash": content_hash(dataset),
        "shots": setting.shots,
        "split": setting.split,
        "candidates": setting.candidates,
        "seed": setting.seed,
        "config": setting.config or {},
        **({"training": setting.training} if setting.training else {}),
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


def command() -> str:
    """Return the command line that is running, as a person would type it."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def commit() -> str | None:
    """Return the git commit of the running source, with "+changes" where it was edited; None when installed."""
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
    """Write a document in one step: the file is the old one or the whole new one, never half."""
    write_file(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def write_ranks(ranks: Ranks, dataset: FewShotDataset, path: Path) -> None:
    """Write one row a query, by name, as Parquet."""
    names = dataset.graph.entities.names
    table = pa.table(
        {
            "relation": [ranks.relation_names[index] for index in ranks.relations],
            "head": names.take(pa.array(ranks.heads)),
            "tail": names.take(pa.array(ranks.tails)),
            "optimistic": ranks.optimistic,
            "pessimistic": ranks.pessimistic,
            "candidates": ranks.num_candidates,
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_file(path, sink.getvalue().to_pybytes())
