"""Fill the tables of the README and the docs from the files under `results/`, so that no figure was typed by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from tripleshot.experiments.comparison_table import seconds_in, short
from tripleshot.experiments.published import METRICS, Published, published_for

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
RESULTS = ROOT / "results"
CHANGES = {
    "": "as it is",
    "without_evidence=link": "without links",
    "without_evidence=path": "without paths that examples share",
    "without_evidence=common": "without common neighbors",
    "without_evidence=path common": "without both",
    "without_evidence=walk": "without walks of three steps",
    "without_evidence=support": "without the examples' tails",
    "without_evidence=likeness": "without likeness to the examples' tails",
    "train_edges=false": "without the train tasks as edges",
    "regime=pre-train": "without background relations as tasks",
    "num_negatives=32": "32 wrong answers a query, not 256",
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
FLOOR = ("degree", "support-frequency", "linked", "evidence")


def nell_table() -> str:
    """Lay out our methods on NELL-One's test set, seed by seed, beside the paper's own row."""
    lines = ["| method | shots | training | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---|---|---|---|---|---|---|"]
    for shots in (1, 5):
        for method in FLOOR if shots == 1 else ():  # with five examples they stand in the comparison
            document = read(f"nell-one/{method}-{shots}-shot.json")
            lines.append(row(f"`{method}`", shots, "none", measured(document)))
        cells = sorted((RESULTS / "nell-one/runs").glob(f"*-{shots}-shot-seed-[1-9]/result.json"))  # 0 is compared
        for path in [*cells, *sorted((RESULTS / "nell-one").glob(f"*-seed-*-{shots}-shot.json"))]:
            document = json.loads(path.read_text())
            minutes = f"{seconds_in(document['training']) / 60:.0f} min"
            name = f"`{document['method']}`, seed {document['seed']}"
            lines.append(row(name, shots, minutes, measured(document)))
        for found in published_rows(shots):
            values = tuple(found.metrics[name] for name in METRICS)
            lines.append(row(f"{found.name}, published ({found.source})", shots, "", values))
    return "\n".join(lines)


def published_rows(shots: int) -> list[Published]:
    """Return what is published about RSCL, and the highest figures of all that can be compared."""
    found = [row for row in published_for("nell-one", shots) if row.is_comparable and {*METRICS} <= row.metrics.keys()]
    return [row for row in found if row.method == "rscl"] + [max(found, key=lambda row: row.metrics["mrr"])]


def relations_table() -> str:
    """Lay out the MRR of each of NELL-One's test relations with five examples, the mean over seeds."""
    names = {
        "linked": ["linked-5-shot"],
        "evidence": ["evidence-5-shot"],
        "rscl": [f"rscl-seed-{seed}-5-shot" for seed in (0, 1)],
        "rscl+": [f"runs/rscl+-5-shot-seed-{seed}/result" for seed in (0, 1)],
    }
    found = {title: [read(f"nell-one/{name}.json")["relations"] for name in named] for title, named in names.items()}
    lines = [f"| relation | queries | {' | '.join(found)} |", "|---" * (len(found) + 2) + "|"]
    for relation, figures in found["linked"][0].items():
        values = [mean(document[relation]["mrr"] for document in documents) for documents in found.values()]
        name = relation.removeprefix("concept:")
        lines.append(f"| `{name}` | {figures['queries']} | {' | '.join(short(value) for value in values)} |")
    return "\n".join(lines)


def measured(document: dict[str, Any]) -> tuple[float, ...]:
    """Return the four figures of a result."""
    return tuple(document["micro"][name] for name in METRICS)


def row(name: str, shots: int, training: str, values: tuple[float, ...]) -> str:
    """Lay out one line."""
    return f"| {name} | {shots} | {training} | {' | '.join(short(value) for value in values)} |"


def ingest_table() -> str:
    """Lay out the reading of a graph of Wiki-One's size beside PyKEEN's."""
    lines = ["| reader | seconds | peak memory |", "|---|---|---|"]
    for name, figures in read("ingest.json")["figures"].items():
        lines.append(f"| {name} | {figures['seconds']:.1f} | {figures['peak_mib']:,.0f} MiB |")
    return "\n".join(lines)


def speed_table() -> str:
    """Lay out training and scoring at the paper's configuration beside a plain implementation of both."""
    training, scoring = read("training.json")["figures"], read("scoring.json")["figures"]
    step, one, test = "seconds", "candidates_per_second", "extrapolated_full_test_seconds"
    lines = [
        "| at the paper's configuration | plain | tripleshot | times faster |",
        "|---|---|---|---|",
        speed_row("a training step, s", training, step, "{:.2f}"),
        speed_row("candidates scored in a second, one query", scoring, one, "{:,.0f}", more_is_faster=True),
        speed_row("the NELL-One test, queries of a head together, min (extrapolated)", scoring, test, "{:.0f}", 1 / 60),
    ]
    return "\n".join(lines)


def speed_row(
    name: str, figures: dict[str, Any], key: str, form: str, scale: float = 1, more_is_faster: bool = False
) -> str:
    """Lay out one figure of both sides and their ratio."""
    plain, ours = (figures[side][key] for side in ("plain", "tripleshot"))
    ratio = ours / plain if more_is_faster else plain / ours
    return f"| {name} | {form.format(plain * scale)} | {form.format(ours * scale)} | {ratio:.1f} |"


def serving_table() -> str:
    """Lay out latency and answers a second of a server under one client and under many."""
    lines = ["| run | candidates | clients | p50 | p99 | answers/s |", "|---|---|---|---|---|---|"]
    for run in read("serving.json")["runs"]:
        for load in run["loads"]:
            times = f"{load['p50_ms']:,.0f} ms | {load['p99_ms']:,.0f} ms | {load['answers_per_second']:,.0f}"
            name = f"`{run['method']}` on {run['dataset']}"
            lines.append(f"| {name} | {run['candidates']:,.0f} | {load['clients']} | {times} |")
    return "\n".join(lines)


def searching_table() -> str:
    """Lay out searches by name among millions."""
    lines = ["| names | index | what is typed | p50 | p99 | found |", "|---|---|---|---|---|---|"]
    for index in read("searching.json")["figures"]["tripleshot"]:
        size = f"{index['names'] / 1e6:.1f} million | {index['index_mib']:,.0f} MiB, {index['build_seconds']:.1f} s"
        for kind in ("whole name", "one typo"):
            search = index["searches"][kind]
            times = f"{search['p50_ms']:.0f} ms | {search['p99_ms']:.0f} ms"
            lines.append(f"| {size} | {kind} | {times} | {search['found']:.0%} |")
    return "\n".join(lines)


def comparison_table() -> str:
    """Lay out every method after the same time of training, the best first, beside the highest published MRR."""
    document = read("nell-one/compare-5-shot.json")
    lines = [
        "| method | MRR | Hits@10 | Hits@5 | Hits@1 | training | answers/s | MRR, as published |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = [(found["micro"]["mrr"], compared_row(found)) for found in document["rows"]]
    rows += [
        (found["mrr"], published_row(found)) for found in document["published_elsewhere"] if found["is_comparable"]
    ]
    return "\n".join([*lines, *(line for _, line in sorted(rows, reverse=True))])


def compared_row(found: dict[str, Any]) -> str:
    """Lay out one method of a comparison."""
    spread = found.get("spread", {})
    figures = " | ".join(short(found["micro"][name]) + within(spread.get(name)) for name in METRICS)
    minutes = f"{found['seconds'] / 60:.0f} min" if found["seconds"] else "none"
    printed = [figure["mrr"] for figure in found["published"] if figure["is_comparable"]]
    speed, beside = f"{found['answers_per_second']:,.0f}", short(max(printed)) if printed else ""
    return f"| `{found['method']}` | {figures} | {minutes} | {speed} | {beside} |"


def within(spread: float | None) -> str:
    """Write a standard deviation over seeds, if there is one."""
    return f" ± {short(spread)}" if spread else ""


def published_row(found: dict[str, Any]) -> str:
    """Lay out a published method that is not ours to run."""
    figures = " | ".join(short(found[name]) if name in found else "" for name in METRICS)
    return f"| *{found['name']}, as published* | {figures} |  |  | {short(found['mrr'])} |"


def contexts_table() -> str:
    """Lay out RSCL's options on a sample of dev: what they are worth, and what they cost."""
    lines = ["| RSCL that sees the train tasks as edges | dev MRR | answers/s |", "|---|---|---|"]
    for found in read("nell-one/contexts/compare-valid-5-shot.json")["rows"]:
        named = [name for name in OPTIONS if f"{name}=true" in found["method"]]
        figures = f"{short(found['micro']['mrr'])} | {found['answers_per_second']:,.1f}"
        lines.append(f"| {OPTIONS[named[0]] if named else 'as in the paper'} | {figures} |")
    return "\n".join(lines)


def encoders_table() -> str:
    """Lay out what RSCL's sizes and options are worth on Atlas's dev tasks, and what they cost."""
    lines = ["| RSCL on Atlas | dev MRR | answers/s |", "|---|---|---|"]
    for found in read("atlas/encoders/compare-valid-5-shot.json")["rows"]:
        _, _, variant = found["method"].partition("@")
        figures = f"{short(found['micro']['mrr'])} | {found['answers_per_second']:,.0f}"
        lines.append(f"| {SIZES[variant]} | {figures} |")
    return "\n".join(lines)


def claims_table() -> str:
    """Lay out what the paper claims, and whether our runs say so."""
    lines = ["| the paper says | here | figures |", "|---|---|---|"]
    for name in ("main", "ablation", "lambda", "curves", "long-tail", "cases"):
        for claim in read(f"nell-one/paper/{name}.json")["claims"]:
            lines.append(f"| {claim['text']} | {claim['verdict']} | {claim['detail']} |")
    return "\n".join(lines)


def ablation_table() -> str:
    """Lay out what each idea of `rscl+` is worth on dev: the mean over seeds without it, or with what is optional."""
    rows = read("nell-one/ablation/compare-valid-5-shot.json")["rows"]
    whole = next(found for found in rows if found["method"] == "rscl+")["micro"]["mrr"]
    lines = ["| `rscl+` | dev MRR | difference | answers/s |", "|---|---|---|---|"]
    for found in rows:
        _, _, variant = found["method"].partition("@")
        difference = f"{found['micro']['mrr'] - whole:+.3f}".replace("0.", ".") if variant else ""
        figures = f"{short(found['micro']['mrr'])} | {difference} | {found['answers_per_second']:,.0f}"
        lines.append(f"| {CHANGES[variant]} | {figures} |")
    return "\n".join(lines)


def held_out_table() -> str:
    """Lay out what `rscl+` is worth on train tasks that it did not learn from, each of them held out once."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for path in sorted((RESULTS / "nell-one/held-out").glob("part-*/runs/*/result.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        of_seed = found.setdefault(document["variant"], {}).setdefault(document["seed"], [])
        of_seed.extend(document["relations"].values())
    lines = ["| `rscl+` | mean MRR over relations, seed by seed | over queries |", "|---|---|---|"]
    for variant, seeds in sorted(found.items(), key=lambda one: list(CHANGES).index(one[0])):
        figures = [
            " ".join(short(over(relations)) for relations in seeds.values()) for over in (per_relation, per_query)
        ]
        lines.append(f"| {CHANGES[variant]} | {' | '.join(figures)} |")
    return "\n".join(lines)


def per_relation(relations: list[dict[str, Any]]) -> float:
    """Return the mean MRR of relations, whatever their size."""
    return mean(one["mrr"] for one in relations)


def per_query(relations: list[dict[str, Any]]) -> float:
    """Return the mean MRR of all their queries."""
    return sum(one["queries"] * one["mrr"] for one in relations) / sum(one["queries"] for one in relations)


def embedding_table() -> str:
    """Lay out an epoch of each embedding method beside PyKEEN's."""
    lines = ["| one epoch, s | PyKEEN | tripleshot | times faster |", "|---|---|---|---|"]
    for name, figures in read("embedding.json")["figures"].items():
        times = f"{figures['pykeen']:.1f} | {figures['tripleshot']:.1f} | {figures['ratio']:.1f}"
        lines.append(f"| `{name}` | {times} |")
    return "\n".join(lines)


def read(name: str) -> dict[str, Any]:
    """Return a file under `results/`."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


TABLES: dict[str, Callable[[], str]] = {
    "nell-one": nell_table,
    "relations": relations_table,
    "comparison": comparison_table,
    "claims": claims_table,
    "contexts": contexts_table,
    "encoders": encoders_table,
    "ablation": ablation_table,
    "held-out": held_out_table,
    "embedding": embedding_table,
    "ingest": ingest_table,
    "speed": speed_table,
    "serving": serving_table,
    "searching": searching_table,
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
