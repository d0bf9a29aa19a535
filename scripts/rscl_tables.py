"""The tables of RSCL's page: what its episodes ask about, and the masked score, on all of NELL-One's test."""

from pathlib import Path
from statistics import mean
from typing import Any

from tripleshot.evaluation.results import Result, read_results
from tripleshot.experiments.comparison_table import format_metric
from tripleshot.experiments.paper.results import budget_of
from tripleshot.experiments.paper.values import printed_rows
from tripleshot.experiments.published import METRICS, published_for

RESULTS = Path(__file__).parents[1] / "results/nell-one"
FILE = RESULTS / "masked-score.jsonl"
ALL_SEEN, HELD_BACK = "all triples seen", "three of ten held back"
PRESET, UNSWAPPED = "the preset", "no swapped heads"


def rows() -> list[tuple[str, Result]]:
    """Return the results on test and which run they are of, fewest examples first."""
    return sorted(
        ((name_of(one["config"]), one) for one in read_results(FILE)), key=lambda one: (one[0], one[1]["shots"])
    )


def name_of(config: dict[str, Any]) -> str:
    """Return what a run is called in the tables."""
    if not config.get("held_back"):
        return ALL_SEEN
    if config["held_back"] == 0.3:
        return HELD_BACK
    return PRESET if config.get("swapped_heads") else UNSWAPPED


def masked_score_table() -> str:
    """Return what the similarity and what is expected are worth together."""
    lines = ["| pre-training | examples | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---|---|---|---|---|---|"]
    for run, one in rows():
        metrics = " | ".join(format_metric(one["micro"][name]) for name in METRICS)
        lines.append(f"| {run} | {one['shots']} | {metrics} |")
    return "\n".join(lines)


def masked_relations_table() -> str:
    """Return the MRR on each relation."""
    found = {f"{run}, {one['shots']}-shot": one["relations"] for run, one in rows()}
    lines = [f"| relation | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    for relation in next(iter(found.values())):
        values = " | ".join(format_metric(of_shots[relation]["mrr"]) for of_shots in found.values())
        lines.append(f"| `{relation.removeprefix('concept:')}` | {values} |")
    return "\n".join(lines)


def held_back_table() -> str:
    """Return each relation's MRR with five examples: by several kinds of episodes, by the preset, as published."""
    runs = {
        ALL_SEEN: of_presets("rscl-tries", "held_back=0"),
        HELD_BACK: of_presets("rscl-tries", "held_back=0.3"),
        UNSWAPPED: of_presets("rscl-tries", "swapped_heads=0+steps=8000"),
        PRESET: of_presets("main"),
    }
    published = {row["relation"]: row["rscl"]["mrr"] for row in printed_rows("cases", "nell-one")}
    columns = ("relation", "queries", *runs, "published")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    relations = runs[PRESET][0]["relations"]
    for relation, metrics in relations.items():
        ours = [format_metric(mean(one["relations"][relation]["mrr"] for one in seeds)) for seeds in runs.values()]
        name = f"`{relation.removeprefix('concept:')}`"
        cells = (name, str(metrics["queries"]), *ours, format_metric(published[relation]))
        lines.append(f"| {' | '.join(cells)} |")
    in_all = [format_metric(mean(one["micro"]["mrr"] for one in seeds)) for seeds in runs.values()]
    printed = next(row.metrics["mrr"] for row in published_for("nell-one", 5) if row.method == "rscl")
    every = sum(metrics["queries"] for metrics in relations.values())
    lines.append(f"| **all queries** | {every:,} | {' | '.join(in_all)} | {format_metric(printed)} |")
    return "\n".join(lines)


def of_presets(file: str, variant: str = "") -> list[Result]:
    """Return the results of RSCL without a budget, with five examples, of each seed; of one variant if it is named."""
    return [
        one
        for one in read_results(RESULTS / f"{file}.jsonl")
        if (one["method"], one["shots"], budget_of(one)) == ("rscl", 5, None)
        and (not variant or one.get("variant") == variant)
    ]
