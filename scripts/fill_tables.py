"""Fill the tables of the README and the docs from the files under `results/`, so that no number is typed by hand."""

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from benchmark_tables import BENCHMARK_TABLES
from command_reference import command_reference
from method_tables import method_tables, tuned_table
from rscl_tables import held_back_table, masked_relations_table, masked_score_table
from tripleshot.evaluation.results import Result, read_json_lines, read_results
from tripleshot.experiments.comparison_table import (
    Comparison,
    Row,
    format_metric,
    label_of,
    make_comparison,
    training_seconds,
)
from tripleshot.experiments.paper.results import budget_of
from tripleshot.experiments.published import METRICS, Published, published_for
from tripleshot.experiments.variants import EVERYTHING
from tripleshot.methods import METHODS
from trust_tables import TRUST_TABLES
from universal_tables import confidence_table, edges_table, universal_table

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
RESULTS = ROOT / "results"
OWN = "evidence-net"
CHANGES = {
    "": "as it is",
    "without_evidence=link": "without links",
    "without_evidence=path": "without paths that examples share",
    "without_evidence=common": "without common neighbors",
    "without_evidence=path common": "without both",
    "without_evidence=walk": "without walks of three steps",
    "without_evidence=support": "without the examples' tails",
    "without_evidence=similarity": "without similarity to the examples' tails",
    "train_edges=false": "without the train tasks as edges",
    "regime=pre-train": "without background relations as tasks",
    "num_negatives=32": "32 wrong answers per query, not 256",
    "evidence_dropout=0": "no evidence left out in training",
    "text=true": "with names and labels (`--text`)",
}
OPTIONS = {"connected": "`--connected`", "factorised": "`--factorised`"}
SIZES = {
    "": "one layer, width 64, p 6",
    "num_layers=2": "two layers",
    "num_layers=4": "four layers",
    "width=32": "width 32",
    "max_neighbors=3+max_distant=2": "p 3",
    "max_neighbors=12+max_distant=8": "p 12",
    **{f"{name}=true": flag for name, flag in OPTIONS.items()},
}
UNTRAINED = ("degree", "support-frequency", "linked", "evidence")
BUDGET = 30 * 60.0  # seconds, of the comparison


def main_results() -> list[Result]:
    """Return the results of every method on NELL-One's test set."""
    return read_results(RESULTS / "nell-one/main.jsonl")


def is_compared(result: Result) -> bool:
    """Tell whether a result is part of the comparison: five examples, a budget of half an hour, the first seed."""
    is_row = (result["shots"], result["seed"]) == (5, 0) and label_of(result) in EVERYTHING
    return is_row and budget_of(result) in (0, BUDGET)


def nell_comparison() -> Comparison:
    """Return all methods on NELL-One with five examples after half an hour."""
    return make_comparison(filter(is_compared, main_results()), "nell-one", 5, BUDGET)


def dev_comparison(name: str, method: str, dataset: str) -> Comparison:
    """Return the variants of a method on dev."""
    found = [one for one in read_results(RESULTS / name) if (one["method"], one["split"]) == (method, "valid")]
    return make_comparison(found, dataset, 5, budget_of(found[0]) or 0.0, "valid")


def nell_table() -> str:
    """Return the rows that are not in the comparison: one example, and more seeds, next to the highest published."""
    lines = ["| method | shots | training | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---|---|---|---|---|---|---|"]
    results = main_results()
    for shots in (1, 5):
        found = [one for one in results if one["shots"] == shots and not is_compared(one)]
        for method in UNTRAINED if shots == 1 else ():  # those with five examples are in the comparison
            lines += [row(f"`{method}`", shots, "none", measured(one)) for one in found if one["method"] == method]
        for one in sorted(found, key=lambda one: (one["method"], one["seed"])):
            if "training" in one and label_of(one) in EVERYTHING:
                minutes = f"{training_seconds(one['training']) / 60:.0f} min"
                lines.append(row(f"`{one['method']}`, seed {one['seed']}", shots, minutes, measured(one)))
        for one in published_rows(shots):
            values = tuple(one.metrics[name] for name in METRICS)
            lines.append(row(f"{one.name}, published ({one.source})", shots, "", values))
    return "\n".join(lines)


def published_rows(shots: int) -> list[Published]:
    """Return what is published about RSCL, and the highest published MRR that is comparable."""
    found = [row for row in published_for("nell-one", shots) if row.is_comparable and {*METRICS} <= row.metrics.keys()]
    return [row for row in found if row.method == "rscl"] + [max(found, key=lambda row: row.metrics["mrr"])]


def relations_table() -> str:
    """Return the MRR on each of NELL-One's test relations with five examples, averaged over seeds."""
    results = [one for one in main_results() if one["shots"] == 5]
    with_budget = [one for one in results if budget_of(one) is not None]
    without_budget = [one for one in results if budget_of(one) is None]  # of RSCL there are two seeds
    sources = {"linked": with_budget, "evidence": with_budget, "rscl": without_budget, OWN: with_budget}
    found = {
        method: [one["relations"] for one in source if label_of(one) == method] for method, source in sources.items()
    }
    lines = [f"| relation | queries | {' | '.join(found)} |", "|---" * (len(found) + 2) + "|"]
    for relation, metrics in found["linked"][0].items():
        values = [mean(one[relation]["mrr"] for one in seeds) for seeds in found.values()]
        name = relation.removeprefix("concept:")
        lines.append(f"| `{name}` | {metrics['queries']} | {' | '.join(format_metric(value) for value in values)} |")
    return "\n".join(lines)


def measured(result: Result) -> tuple[float, ...]:
    """Return the four metrics of a result."""
    return tuple(result["micro"][name] for name in METRICS)


def row(name: str, shots: int, training: str, values: tuple[float, ...]) -> str:
    """Return one line of a table."""
    return f"| {name} | {shots} | {training} | {' | '.join(format_metric(value) for value in values)} |"


def comparison_table() -> str:
    """Return every method after the same time of training, the best first, next to the highest published MRR."""
    comparison = nell_comparison()
    lines = [
        "| method | MRR | Hits@10 | Hits@5 | Hits@1 | training | answers/s | MRR, as published |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = [(one.metric("mrr"), compared_row(one)) for one in comparison.rows]
    rows += [(one.metrics["mrr"], published_row(one)) for one in comparison.other_published if one.is_comparable]
    return "\n".join([*lines, *(line for _, line in sorted(rows, reverse=True))])


def methods_table() -> str:
    """Return every method, what it does, and its MRR beside the highest published one."""
    lines = ["| method | family | idea | MRR | MRR, as published |", "|---|---|---|---|---|"]
    measured_rows = {row.method: row for row in nell_comparison().rows}
    for name, entry in METHODS.items():
        found = measured_rows.get(name)
        mrr = format_metric(found.metric("mrr")) if found else ""
        lines.append(
            f"| [`{name}`](methods/{name}.md) | {entry.kind} | {entry.summary} | {mrr} | {highest_published(found)} |"
        )
    return "\n".join(lines)


def highest_published(found: Row | None) -> str:
    """Return the highest MRR that is published about a method and can be compared, if there is one."""
    published = [one.metrics["mrr"] for one in found.published if one.is_comparable] if found else []
    return format_metric(max(published)) if published else ""


def compared_row(found: Row) -> str:
    """Return the line of one method of the comparison."""
    metrics = " | ".join(format_metric(found.metric(name)) for name in METRICS)
    minutes = f"{found.seconds / 60:.0f} min" if found.seconds else "none"
    highest = highest_published(found)
    return f"| `{found.method}` | {metrics} | {minutes} | {found.answers_per_second:,.0f} | {highest} |"


def published_row(found: Published) -> str:
    """Return the line of a published method that is not part of this library."""
    metrics = " | ".join(format_metric(found.metrics[name]) if name in found.metrics else "" for name in METRICS)
    return f"| *{found.name}, as published* | {metrics} |  |  | {format_metric(found.metrics['mrr'])} |"


def contexts_table() -> str:
    """Return RSCL's options on a sample of dev: what they gain, and what they cost."""
    lines = ["| RSCL that sees the train tasks as edges | dev MRR | answers/s |", "|---|---|---|"]
    for found in dev_comparison("nell-one/contexts.jsonl", "rscl", "nell-one").rows:
        named = [name for name in OPTIONS if f"{name}=true" in found.method]
        option = OPTIONS[named[0]] if named else "as in the paper"
        lines.append(f"| {option} | {format_metric(found.metric('mrr'))} | {found.answers_per_second:,.1f} |")
    return "\n".join(lines)


def encoders_table() -> str:
    """Return the dev MRR of RSCL on Atlas with other sizes and options, and what they cost."""
    lines = ["| RSCL on Atlas | dev MRR | answers/s |", "|---|---|---|"]
    for found in dev_comparison("atlas/encoders.jsonl", "rscl", "atlas").rows:
        size = SIZES[variant_name(found)]
        lines.append(f"| {size} | {format_metric(found.metric('mrr'))} | {found.answers_per_second:,.0f} |")
    return "\n".join(lines)


def claims_table() -> str:
    """Return the claims of the paper, and whether they hold in our runs."""
    lines = ["| the paper says | here | values |", "|---|---|---|"]
    for report in read_json_lines(RESULTS / "nell-one/reports.jsonl"):
        for claim in report["claims"]:
            lines.append(f"| {claim['text']} | {claim['verdict']} | {claim['detail']} |")
    return "\n".join(lines)


def ablation_table() -> str:
    """Return what each part of `evidence-net` is worth on dev: the mean over seeds without it, or with an option."""
    rows = dev_comparison("nell-one/evidence-net-ablation.jsonl", OWN, "nell-one").rows
    whole = next(found for found in rows if found.method == OWN).metric("mrr")
    lines = [f"| `{OWN}` | dev MRR | difference | answers/s |", "|---|---|---|---|"]
    for found in rows:
        variant, mrr = variant_name(found), found.metric("mrr")
        difference = f"{mrr - whole:+.3f}".replace("0.", ".") if variant else ""
        metrics = f"{format_metric(mrr)} | {difference} | {found.answers_per_second:,.0f}"
        lines.append(f"| {CHANGES[variant]} | {metrics} |")
    return "\n".join(lines)


def variant_name(found: Row) -> str:
    """Return the variant of a row without its method."""
    return found.method.partition("@")[2]


def held_out_table() -> str:
    """Return what `evidence-net` is worth on train tasks that it was not trained on, each of them held out once."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for result in read_results(RESULTS / "nell-one/held-out.jsonl"):
        of_seed = found.setdefault(result["variant"], {}).setdefault(result["seed"], [])
        of_seed.extend(result["relations"].values())
    lines = [f"| `{OWN}` | mean MRR over relations, seed by seed | over queries |", "|---|---|---|"]
    for variant, seeds in sorted(found.items(), key=lambda one: list(CHANGES).index(one[0])):
        means = [
            " ".join(format_metric(over(relations)) for relations in seeds.values())
            for over in (per_relation, per_query)
        ]
        lines.append(f"| {CHANGES[variant]} | {' | '.join(means)} |")
    return "\n".join(lines)


def per_relation(relations: list[dict[str, Any]]) -> float:
    """Return the mean MRR of relations, whatever their size."""
    return mean(one["mrr"] for one in relations)


def per_query(relations: list[dict[str, Any]]) -> float:
    """Return the mean MRR of all their queries."""
    return sum(one["queries"] * one["mrr"] for one in relations) / sum(one["queries"] for one in relations)


TABLES: dict[str, Callable[[], str]] = {
    "nell-one": nell_table,
    "relations": relations_table,
    "comparison": comparison_table,
    "claims": claims_table,
    "contexts": contexts_table,
    "held-back": held_back_table,
    "masked-score": masked_score_table,
    "tuned": tuned_table,
    "masked-relations": masked_relations_table,
    "encoders": encoders_table,
    "ablation": ablation_table,
    "held-out": held_out_table,
    **BENCHMARK_TABLES,
    **TRUST_TABLES,
    "universal": universal_table,
    "edges": edges_table,
    "confidence": confidence_table,
    "methods": methods_table,
    "commands": command_reference,
    **method_tables(),
}


def fill(text: str, name: str, table: str) -> str:
    """Put a table between its two marks."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{table}\n{end}{after}"


def filled(text: str) -> str:
    """Return a page with every table that it has marks for as the results have it now."""
    for name, make in TABLES.items():
        if f"<!-- {name}:begin -->" in text:
            text = fill(text, name, make())
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
