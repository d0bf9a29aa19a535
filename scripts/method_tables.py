"""The tables of the pages about single methods: settings from the code, figures from `results/` and publications."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from tripleshot.evaluation.results import read_json_lines, read_results
from tripleshot.experiments.comparison_table import format_metric, label_of, training_seconds
from tripleshot.experiments.published import METRICS, all_published
from tripleshot.methods import METHODS
from tripleshot.methods.settings import HELP, TrainingSettings, described_fields

RESULTS = Path(__file__).parents[1] / "results"
DATASET = "nell-one"
DEFAULT, AS_PUBLISHED, TUNED = "fast", "paper", "nell-one"
TRIES = "baseline-tries.jsonl"
SAID_OTHERWISE = {("evidence-net", "pretrained")}
"""Settings that are no flag of `train`: `--from` says what `evidence-net` starts from."""


def settings_table(method: str) -> str:
    """Return every flag of a method that learns, with its default and, where it differs, the published value."""
    entry = METHODS[method]
    default = entry.preset(DEFAULT)
    published = entry.preset(AS_PUBLISHED) if AS_PUBLISHED in entry.method_class().presets else None
    columns = ["flag", "meaning", "default", *([f"`--preset {AS_PUBLISHED}`"] if published else [])]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, described in own_settings_first(entry.settings):
        if (method, name) in SAID_OTHERWISE:
            continue
        value = getattr(default, name)
        cells = [f"`--{name.replace('_', '-')}`", described[HELP].replace("|", "\\|"), written(value)]
        if published:
            other = getattr(published, name)
            cells.append("" if other == value else written(other))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def own_settings_first(settings: type) -> list[tuple[str, dict[str, Any]]]:
    """Return the settings that have a help, those that every training has behind the others."""
    shared = {field.name for field in fields(TrainingSettings)}
    found = [(own.name, described) for own, described in described_fields(settings) if HELP in described]
    return sorted(found, key=lambda one: one[0] in shared)


def written(value: object) -> str:
    """Return a value as a reader of a table expects it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}".replace("0.", ".") if 1e-3 <= abs(value) < 1 else f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple | list):
        value = ",".join(map(str, value))
    return f"`{value}`" if value not in ("", None) else "none"


def results_table(method: str) -> str:
    """Return what a method has on NELL-One's test, ours above what is published about it."""
    lines = ["| on NELL-One's test | shots | training | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---" * 7 + "|"]
    tuned = tuned_results(method)
    for result in sorted(own_results(method) + tuned, key=lambda one: (one["shots"], label_of(one), one["seed"])):
        training = result.get("training")
        time = f"{training_seconds(training) / 60:.0f} min" if training else "none"
        name = f"`{label_of(result)}`" + (f", seed {result['seed']}" if result["seed"] else "")
        name += f", preset `{TUNED}`" if result in tuned else ""
        lines.append(_row(name, result["shots"], time, result["micro"]))
    for one in all_published():
        if (one.method, one.dataset, one.is_comparable) == (method, DATASET, True):
            lines.append(_row(f"{one.name}, published ({one.source})", one.shots, "", one.metrics))
    return "\n".join(dict.fromkeys(lines))


def own_results(method: str) -> list[dict[str, Any]]:
    """Return the results of a method and its variants in the comparison of all methods."""
    return [one for one in read_results(RESULTS / DATASET / "main.jsonl") if one["method"] == method]


def tuned_results(method: str) -> list[dict[str, Any]]:
    """Return the results of a method by the preset that was chosen for NELL-One."""
    return [one for one in read_results(RESULTS / DATASET / "baselines.jsonl") if one["method"] == method]


def tuned_table() -> str:
    """Return the methods that have a preset for NELL-One: by default after half an hour, by that preset, published."""
    columns = ("method", "shots", "MRR, default", f"MRR, preset `{TUNED}`", "Hits@10", "training", "MRR, as published")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for method in METHODS:
        for tuned in sorted(tuned_results(method), key=lambda one: one["shots"]):
            usual = [one for one in own_results(method) if (one["shots"], label_of(one)) == (tuned["shots"], method)]
            printed = [
                one.metrics["mrr"]
                for one in all_published()
                if (one.method, one.dataset, one.shots, one.is_comparable) == (method, DATASET, tuned["shots"], True)
            ]
            cells = [
                f"`{method}`",
                str(tuned["shots"]),
                format_metric(usual[0]["micro"]["mrr"]) if usual else "",
                format_metric(tuned["micro"]["mrr"]),
                format_metric(tuned["micro"]["hits@10"]),
                f"{training_seconds(tuned['training']) / 60:.0f} min",
                format_metric(max(printed)) if printed else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def tries_table(method: str) -> str:
    """Return what was tried of a method before its preset for NELL-One was chosen, in the order of the trials."""
    columns = ("settings", "seconds", "steps", "valid tasks", "held-out train tasks")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in read_json_lines(RESULTS / TRIES):
        if one["method"] == method:
            changed = ", ".join(f"`{name}={value}`" for name, value in one["settings"].items()) or "the default"
            sampled = f", among {one['candidates']} candidates" if "candidates" in one else ""
            found = (format_metric(one[split]["mrr"]) if split in one else "" for split in ("valid", "test"))
            lines.append(f"| {changed}{sampled} | {one['seconds']:.0f} | {one['steps']:,} | {' | '.join(found)} |")
    return "\n".join(lines)


def _row(name: str, shots: int, training: str, metrics: Any) -> str:  # noqa: ANN401 (a mapping of a result or a row)
    values = " | ".join(format_metric(metrics[metric]) if metric in metrics else "" for metric in METRICS)
    return f"| {name} | {shots} | {training} | {values} |"


def method_tables() -> dict[str, Callable[[], str]]:
    """Return the tables of all methods by name: settings of those that learn, and results of those that have any."""
    tries = {one["method"] for one in read_json_lines(RESULTS / TRIES)}
    tried = {f"tries-{name}": partial(tries_table, name) for name in METHODS if name in tries}
    learned = {f"settings-{name}": partial(settings_table, name) for name, entry in METHODS.items() if entry.learns}
    return learned | tried | {f"results-{name}": partial(results_table, name) for name in METHODS if own_results(name)}
