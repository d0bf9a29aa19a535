"""Results for the paper's tables: where they are found, which of them make a row, and which are missing."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evaluation.results import RUNS, Result, read_results
from tripleshot.experiments.comparison import SHORTER
from tripleshot.experiments.comparison_table import format_metric, label_of
from tripleshot.experiments.paper.report import NONE, Missing

STUDIES = "studies"  # the folder of RSCL's variants, which are all trained under equal conditions
MAIN_FILE = "main.jsonl"  # packed results of the main table
STUDIES_FILE = "rscl-ablation.jsonl"  # packed results of RSCL's variants
REQUIRED = {"method", "data_hash", "shots", "config", "micro", "relations", "long_tail"}  # in every result


@dataclass(frozen=True, eq=False)
class Results:
    """Results about one dataset, grouped by the place where they were found, the preferred place first.

    A row takes all its seeds from one place and one budget: results of different places were rarely made under the same
    conditions.
    """

    places: tuple[tuple[Result, ...], ...]

    def of(self, label: str, shots: int) -> tuple[Result, ...]:
        """Return the results of a method or variant, one per seed; empty if there are none."""
        for place in self.places:
            found = [result for result in place if (label_of(result), result["shots"]) == (label, shots)]
            if found:
                same = [result for result in found if budget_of(result) == budget_of(found[0])]
                return tuple(sorted(same, key=lambda result: result["seed"]))
        return ()

    def in_rows(self) -> list[Result]:
        """Return each result that is part of a row."""
        rows = dict.fromkeys((label_of(result), result["shots"]) for place in self.places for result in place)
        return [result for row in rows for result in self.of(*row)]


def budget_of(result: Result) -> float | None:
    """Return the seconds that a training was given; None if it was not limited."""
    return result.get("budget", result.get("training", {}).get("budget"))


def find_results(folders: Iterable[Path], data_hash: str) -> Results:
    """Read the test results in some folders, without those on other data or among other candidates.

    Each folder has three places: the runs below it, the file with packed results, and .json files with one result each.
    """
    places = []
    for folder in folders:
        singles = [result for path in sorted(folder.glob("*.json")) for result in _read_single(path)]
        places += [_read_existing(folder), _read_existing(folder / MAIN_FILE), singles]
    return Results(tuple(_about(data_hash, place) for place in places))


def find_studies(out: Path, folders: Iterable[Path], data_hash: str) -> Results:
    """Read the results of RSCL's variants from one place, the runs below OUT or else the first packed file."""
    places = (_read_existing(path) for path in (out / STUDIES, *(folder / STUDIES_FILE for folder in folders)))
    return Results(tuple(found for place in places if (found := _about(data_hash, place)))[:1])


def _read_existing(path: Path) -> list[Result]:
    return read_results(path) if path.exists() else []


def _read_single(path: Path) -> list[Result]:
    """Read a .json file, which need not be a result."""
    try:
        return read_results(path)
    except InputError:
        return []


def _about(data_hash: str, documents: Iterable[Result]) -> tuple[Result, ...]:
    """Return the documents that are results on a dataset's test queries."""
    return tuple(
        one
        for one in documents
        if isinstance(one, dict)
        and one.keys() >= REQUIRED
        and (one["data_hash"], one.get("split"), one.get("candidates")) == (data_hash, "test", "benchmark")
    )


def result_folders(out: Path, more: Sequence[Path] = ()) -> list[Path]:
    """Return where results are looked for: OUT, further folders, the folder above OUT, those next to it with runs."""
    out = out.resolve()
    siblings = sorted(runs.parent for runs in out.parent.glob(f"*/{RUNS}") if runs.parent != out)
    return [out, *more, out.parent, *(folder for folder in siblings if not folder.name.startswith(SHORTER))]


@dataclass(frozen=True, eq=False)
class PaperResults:
    """Everything that reports are made from.

    Attributes:
        dataset: the dataset of all results.
        main: results of the main table: each method with its own settings.
        studies: results of RSCL and its variants under equal conditions.
        data_hash: the content hash of the dataset.
        arguments: of a command about them, after its name: the data and the folder.
    """

    dataset: FewShotDataset
    main: Results
    studies: Results
    data_hash: str = ""
    arguments: tuple[str, ...] = ()


def collect_results(dataset: FewShotDataset, data: str, out: Path, more: Sequence[Path] = ()) -> PaperResults:
    """Read all results about a dataset.

    Args:
        dataset: what the results are about.
        data: the dataset as the user named it.
        out: the folder of the reports.
        more: further folders with results.
    """
    data_hash = dataset.content_hash
    folders = result_folders(out, more)
    main, studies = find_results(folders, data_hash), find_studies(out, folders, data_hash)
    return PaperResults(dataset, main, studies, data_hash, (data, "--out", str(out)))


def seed_mean(results: Sequence[Result], *keys: str) -> float | None:
    """Return the mean of the value at these keys; None if any seed lacks it."""
    values = [_value(result, keys) for result in results]
    numbers = [value for value in values if value is not None]
    return mean(numbers) if numbers and len(numbers) == len(values) else None


def _value(result: Result, keys: Sequence[str]) -> float | None:
    value: Any = result
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def format_mean(results: Sequence[Result], *keys: str) -> str:
    """Write the mean over seeds, with the standard deviation if there are several."""
    value = seed_mean(results, *keys)
    if value is None:
        return NONE
    if len(results) == 1:
        return format_metric(value)
    return f"{format_metric(value)} ± {format_metric(stdev(_value(result, keys) or 0.0 for result in results))}"


def format_duration(seconds: float) -> str:
    """Write seconds as minutes, or as seconds below one minute."""
    return f"{seconds / 60:,.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def result_notes(rows: Iterable[Sequence[Result]]) -> tuple[str, ...]:
    """Return notes about the results of a table: whether only a sample was ranked, and what runs started from."""
    results = [result for row in rows for result in row]
    return (*_sample_notes(results), *_start_notes(results))


def _sample_notes(results: Sequence[Result]) -> tuple[str, ...]:
    counts = sorted({result["queries"] for result in results if result.get("sample")})
    if not counts:
        return ()
    numbers = " or ".join(f"{count:,}" for count in counts)
    return (f"A sample: {numbers} test queries, drawn by whole heads and the same for each, among all candidates.",)


def _start_notes(results: Sequence[Result]) -> tuple[str, ...]:
    """Name the runs that other runs started from, whose time is not counted."""
    followers: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        if start := result.get("training", {}).get("pretrained"):
            key = start["method"], format_duration(start["spent"])
            followers.setdefault(key, {})[label_of(result)] = None
    return tuple(
        f"Started from {'the pre-training of a run' if source == 'rscl' else source} ({time}, not counted): "
        f"{', '.join(labels)}."
        for (source, time), labels in followers.items()
    )


def find_missing(
    results: Results, wanted: Iterable[tuple[str, int]], name: str, default: Sequence[str]
) -> tuple[Missing, ...]:
    """Return the wanted rows that have no result, with the command that would train them; empty if none is missing.

    The command is the one that made the existing results, so that the others are trained under the same conditions.

    Args:
        results: those that exist.
        wanted: label and number of examples of each row.
        name: of the `tripleshot paper` command that trains such rows.
        default: the arguments of the command if there are no results yet.
    """
    absent = [(label, shots) for label, shots in wanted if not results.of(label, shots)]
    if not absent:
        return ()
    arguments = _without_flag(_without_flag(_earlier_arguments(results) or list(default), "--methods"), "--shots")
    shots = ",".join(str(count) for count in sorted({shots for _, shots in absent}))
    runs = tuple(f"{label}, {count}-shot" for label, count in absent)
    return (Missing(runs, shlex.join(["tripleshot", "paper", name, *arguments, "--shots", shots])),)


def _earlier_arguments(results: Results) -> list[str]:
    """Return the arguments of the `tripleshot paper` command that made the first result."""
    for result in results.places[0] if results.places else ():
        words = shlex.split(result["command"])
        if words[1:2] == ["paper"]:
            return words[3:]
    return []


def _without_flag(words: list[str], flag: str) -> list[str]:
    position = words.index(flag) if flag in words else len(words)
    return [*words[:position], *words[position + 2 :]]
