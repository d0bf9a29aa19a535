"""Pack the results of runs into one file under `results/`, one line per run, without the paths of the machine.

    python scripts/pack_results.py FOLDER ... --into results/nell-one/main.jsonl

Each FOLDER is one that `tripleshot compare --out FOLDER` or `tripleshot paper` has written, or a file of
`tripleshot evaluate --json`. A result that is in the file already is replaced, others are added. Metrics have
six digits.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from tripleshot.evaluation.results import RESULT, RUNS, Result, read_results, write_json_lines
from tripleshot.experiments.comparison_table import label_of
from tripleshot.experiments.paper.results import budget_of
from tripleshot.files.checksums import CHECKSUM
from tripleshot.training.runs import CONFIG

METRICS = ("micro", "macro", "relations", "ties", "long_tail")
OUTSIDE = re.compile(r"(?<![\w./])(?:\.\.)?/(?:[^\s\"',/]+/)*([^\s\"',/]+)")  # a path outside the current folder


def read_with_conditions(path: Path) -> list[Result]:
    """Read results; those of runs come with the data and the budget that their configuration names."""
    if path.is_file():
        return read_results(path)
    found = []
    for file in sorted(path.glob(f"{RUNS}/*/{RESULT}")):
        (result,) = read_results(file)
        config = json.loads((file.parent / CONFIG).read_text(encoding="utf-8"))
        budget = {} if "training" in result else {"budget": config["budget"]}
        result.pop(CHECKSUM, None)
        found.append({**result, "data": config["data"], **budget})
    return found


def without_paths(value: Any, data: str, dataset: str) -> Any:  # noqa: ANN401 (a JSON document)
    """Return a document with the name of the dataset instead of its path, and the last part of any other path."""
    if isinstance(value, dict):
        return {key: without_paths(one, data, dataset) for key, one in value.items()}
    if isinstance(value, list):
        return [without_paths(one, data, dataset) for one in value]
    if not isinstance(value, str):
        return value
    return OUTSIDE.sub(r"\1", value.replace(data, dataset) if data and OUTSIDE.search(data) else value)


def rounded(value: Any) -> Any:  # noqa: ANN401 (a JSON document)
    """Return metrics with six digits."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def identity(result: Result) -> tuple[Any, ...]:
    """Return what tells a result from the others of a file."""
    keys = ("dataset", "shots", "split", "seed")
    return label_of(result), budget_of(result), *(result[key] for key in keys)


def pack(paths: list[Path], into: Path) -> int:
    """Add results to a file and return how many it has then."""
    packed = {identity(result): result for result in (read_results(into) if into.exists() else [])}
    for path in paths:
        for result in read_with_conditions(path):
            packed[identity(result)] = without_paths(result, result.get("data", ""), result["dataset"])
    short = [{key: rounded(one) if key in METRICS else one for key, one in found.items()} for found in packed.values()]
    write_json_lines(short, into)
    return len(packed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--into", required=True, type=Path, metavar="FILE")
    arguments = parser.parse_args()
    print(f"{pack(arguments.paths, arguments.into)} results in {arguments.into}")
