"""The tables of RSCL's masked score, from `results/nell-one/masked-score.jsonl`."""

from pathlib import Path

from tripleshot.evaluation.results import Result, read_results
from tripleshot.experiments.comparison_table import format_metric
from tripleshot.experiments.published import METRICS

FILE = Path(__file__).parents[1] / "results/nell-one/masked-score.jsonl"


def rows() -> list[Result]:
    """Return the results on test, fewest examples first."""
    return sorted(read_results(FILE), key=lambda one: one["shots"])


def masked_score_table() -> str:
    """Return what the similarity and what is expected are worth together."""
    lines = ["| examples | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---|---|---|---|---|"]
    for one in rows():
        lines.append(f"| {one['shots']} | {' | '.join(format_metric(one['micro'][name]) for name in METRICS)} |")
    return "\n".join(lines)


def masked_relations_table() -> str:
    """Return the MRR on each relation."""
    found = {one["shots"]: one["relations"] for one in rows()}
    lines = [f"| relation | {' | '.join(f'MRR, {shots}-shot' for shots in found)} |", "|---" * (len(found) + 1) + "|"]
    for relation in found[min(found)]:
        values = " | ".join(format_metric(of_shots[relation]["mrr"]) for of_shots in found.values())
        lines.append(f"| `{relation.removeprefix('concept:')}` | {values} |")
    return "\n".join(lines)
