"""Finished results: where they are, which of them stand for a row, and what is still missing."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.results import RESULT, RUNS
from tripleshot.experiments.comparison import SHORTER
from tripleshot.experiments.comparison_table import label_of, short
from tripleshot.experiments.paper.report import NONE, Missing

STUDIES = "studies"  # the folder of RSCL's variants: all in equal conditions, which need not be those of the main table


Result = dict[str, Any]
"""A result on disk, as `results.describe` lays it out."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of one dataset, by place, the nearest place first.

    A row takes all its seeds from one place: runs of different places were seldom made under the same conditions.
    """

    places: tuple[tuple[Result, ...], ...]

    def of(self, label: str, shots: int) -> tuple[Result, ...]:
        """Return the results of a method or variant, one for each seed; empty where there are none."""
        for place in self.places:
            found = [result for result in place if (label_of(result), result["shots"]) == (label, shots)]
            if found:
                return tuple(sorted(found, key=lambda result: result["seed"]))
        return ()

    def everything(self) -> list[Result]:
        """Return each result that can stand in a table."""
        rows = dict.fromkeys((label_of(result), result["shots"]) for place in self.places for result in place)
        return [result for row in rows for result in self.of(*row)]


def find_results(folders: Iterable[Path], data_hash: str) -> Results:
    """Read the results in some folders, each of them two places: the runs below it, then the JSON files in it.

    Results on other data, on other tasks than test or among other candidates are left alone.
    """
    patterns = (f"{RUNS}/*/{RESULT}", "*.json")
    return Results(tuple(tuple(_read(folder.glob(kind), data_hash)) for folder in folders for kind in patterns))


def folders_around(out: Path) -> list[Path]:
    """Return where results of the main table are looked for: OUT, the folder above it, those beside it with runs."""
    out = out.resolve()
    beside = sorted(runs.parent for runs in out.parent.glob(f"*/{RUNS}") if runs.parent != out)
    return [out, out.parent, *(folder for folder in beside if not folder.name.startswith(SHORTER))]


def _read(paths: Iterable[Path], data_hash: str) -> Iterable[Result]:
    for path in sorted(paths):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and _is_result(document) and document["data_hash"] == data_hash:
            yield document


def _is_result(document: dict[str, Any]) -> bool:
    has_all = {"method", "data_hash", "shots", "config", "micro", "relations", "long_tail"} <= document.keys()
    return has_all and (document.get("split"), document.get("candidates")) == ("test", "benchmark")


@dataclass(frozen=True, eq=False)
class Material:
    """What reports are made from.

    Attributes:
        dataset: all results are about it.
        main: results of the main table: each method as it is.
        studies: results of RSCL and its variants under equal conditions.
        data_hash: of the dataset's content.
        words: what a command about them has after its name: the data, the folder.
    """

    dataset: FewShotDataset
    main: Results
    studies: Results
    data_hash: str = ""
    words: tuple[str, ...] = ()


def average(results: Sequence[Result], *keys: str) -> float | None:
    """Return the mean over seeds of the figure that these keys lead to; None where any seed lacks it."""
    values = [_value(result, keys) for result in results]
    numbers = [value for value in values if value is not None]
    return mean(numbers) if numbers and len(numbers) == len(values) else None


def _value(result: Result, keys: Sequence[str]) -> float | None:
    value: Any = result
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def figure(results: Sequence[Result], *keys: str) -> str:
    """Write the mean over seeds, with their standard deviation if there are several."""
    value = average(results, *keys)
    if value is None:
        return NONE
    if len(results) == 1:
        return short(value)
    return f"{short(value)} ± {short(stdev(_value(result, keys) or 0.0 for result in results))}"


def duration(seconds: float) -> str:
    """Write how long something took."""
    return f"{seconds / 60:,.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def printed_figure(value: float | None) -> str:
    """Write a figure of the paper."""
    return NONE if value is None else short(value)


def notes_on(rows: Iterable[Sequence[Result]]) -> tuple[str, ...]:
    """Say what one has to know about the results of a table: that they are about a sample, what runs started from."""
    results = [result for row in rows for result in row]
    return (*_sample_notes(results), *_start_notes(results))


def _sample_notes(results: Sequence[Result]) -> tuple[str, ...]:
    counts = sorted({result["queries"] for result in results if result.get("sample")})
    if not counts:
        return ()
    numbers = " or ".join(f"{count:,}" for count in counts)
    return (f"A sample: {numbers} test queries, drawn by whole heads and the same for each, among all candidates.",)


def _start_notes(results: Sequence[Result]) -> tuple[str, ...]:
    """Name what runs started from, which took time of its own."""
    followers: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        if start := result.get("training", {}).get("pretrained"):
            key = start["method"], duration(start["spent"])
            followers.setdefault(key, {})[label_of(result)] = None
    return tuple(
        f"Started from {'the pre-training of a run' if source == 'rscl' else source} ({time}, not counted): "
        f"{', '.join(labels)}."
        for (source, time), labels in followers.items()
    )


def missing(
    results: Results, wanted: Iterable[tuple[str, int]], name: str, default: Sequence[str]
) -> tuple[Missing, ...]:
    """Name what is wanted and not there, and the command that would train it; empty if everything is there.

    The command is the one that made what there is, so that the rest is made under the same conditions.

    Args:
        results: what there is.
        wanted: label and number of examples of each row.
        name: of the `tripleshot paper` command that trains such rows.
        default: words after it, if nothing is there.
    """
    absent = [(label, shots) for label, shots in wanted if not results.of(label, shots)]
    if not absent:
        return ()
    words = _without_flag(_without_flag(_words_before(results) or list(default), "--methods"), "--shots")
    shots = ",".join(str(count) for count in sorted({shots for _, shots in absent}))
    runs = tuple(f"{label}, {count}-shot" for label, count in absent)
    return (Missing(runs, shlex.join(["tripleshot", "paper", name, *words, "--shots", shots])),)


def _words_before(results: Results) -> list[str]:
    """Return what stood after `tripleshot paper NAME` in the command that made the first result."""
    for result in results.places[0] if results.places else ():
        words = shlex.split(result["command"])
        if words[1:2] == ["paper"]:
            return words[3:]
    return []


def _without_flag(words: list[str], flag: str) -> list[str]:
    place = words.index(flag) if flag in words else len(words)
    return [*words[:place], *words[place + 2 :]]
