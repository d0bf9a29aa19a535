"""The tables of benchmarks that the README and the docs show, from the files under `results/benchmarks/`."""

import json
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1] / "results" / "benchmarks"


def benchmark(name: str) -> dict[str, Any]:
    """Return what a benchmark has written."""
    return json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8"))


def ingest_table() -> str:
    """Return the time to read a graph of Wiki-One's size, next to PyKEEN's."""
    lines = ["| reader | seconds | peak memory |", "|---|---|---|"]
    for name, figures in benchmark("ingest")["figures"].items():
        lines.append(f"| {name} | {figures['seconds']:.1f} | {figures['peak_mib']:,.0f} MiB |")
    return "\n".join(lines)


def speed_table() -> str:
    """Return the speed of training and scoring at the paper's configuration, next to a plain implementation."""
    training, scoring = benchmark("training")["figures"], benchmark("scoring")["figures"]
    step, one, test = "cpu_seconds", "candidates_per_second", "extrapolated_full_test_seconds"
    lines = [
        "| at the paper's configuration | plain | tripleshot | times faster |",
        "|---|---|---|---|",
        speed_row("a training step, s of one core", training, step, "{:.2f}"),
        speed_row("candidates scored in a second, one query", scoring, one, "{:,.0f}", more_is_faster=True),
        speed_row("the NELL-One test, queries of a head together, min (extrapolated)", scoring, test, "{:.0f}", 1 / 60),
    ]
    return "\n".join(lines)


def step_table() -> str:
    """Return how long a training step of RSCL takes, plain, as it is, and with torch's attention."""
    training = benchmark("training")
    steps = {
        "plain": training["figures"]["plain"],
        "tripleshot": training["figures"]["tripleshot"],
        "tripleshot, attention by torch": training["attention_by_torch"],
    }
    lines = ["| a training step | s, median | s, best | times faster than plain |", "|---|---|---|---|"]
    for name, figures in steps.items():
        ratio = steps["plain"]["cpu_seconds"] / figures["cpu_seconds"]
        lines.append(f"| {name} | {figures['cpu_seconds']:.2f} | {figures['best_cpu_seconds']:.2f} | {ratio:.1f} |")
    return "\n".join(lines)


def step_parts_table() -> str:
    """Return what the plain step and ours spend their time on."""
    plain, ours = (benchmark("training")["parts_ms"][side] for side in ("plain", "tripleshot"))
    lines = ["| ms of a step | plain | tripleshot | share of ours |", "|---|---|---|---|"]
    for part, milliseconds in ours.items():
        share = milliseconds / sum(ours.values())
        lines.append(f"| {part} | {plain[part]:,.0f} | {milliseconds:,.0f} | {share:.0%} |")
    return "\n".join([*lines, f"| in all | {sum(plain.values()):,.0f} | {sum(ours.values()):,.0f} | |"])


def step_products_table() -> str:
    """Return the rates of the step's own matrix products next to the machine's best."""
    training = benchmark("training")
    lines = ["| product | GFLOP/s | of the best |", "|---|---|---|"]
    for name, rate in training["product_flops_per_second"].items():
        lines.append(f"| {name} | {rate / 1e9:.0f} | {rate / training['gemm_flops_per_second']:.0%} |")
    return "\n".join([*lines, f"| the best product of any shape | {training['gemm_flops_per_second'] / 1e9:.0f} | |"])


def step_limit() -> str:
    """Return what a quarter of the plain step would have to hold."""
    training = benchmark("training")
    plain, ours = training["figures"]["plain"], training["figures"]["tripleshot"]
    quarter, products = 250 * plain["cpu_seconds"], training["parts_ms"]["tripleshot"]["matrix products"]
    return (
        f"Our step does {ours['flops'] / 1e9:.0f} GFLOP, at {ours['gemm_share']:.0%} of the machine's best rate. "
        f"A quarter of the plain step is {quarter:,.0f} ms. The matrix products alone take {products:,.0f} ms of it, "
        f"which leaves {quarter - products:,.0f} ms; everything else takes "
        f"{1000 * ours['cpu_seconds'] - products:,.0f} ms now."
    )


def speed_row(
    name: str, figures: dict[str, Any], key: str, form: str, scale: float = 1, more_is_faster: bool = False
) -> str:
    """Return one line: the plain implementation, this one, and their ratio."""
    plain, ours = (figures[side][key] for side in ("plain", "tripleshot"))
    ratio = ours / plain if more_is_faster else plain / ours
    return f"| {name} | {form.format(plain * scale)} | {form.format(ours * scale)} | {ratio:.1f} |"


def serving_table() -> str:
    """Return latency and answers per second of a server with one client and with many."""
    lines = ["| run | candidates | clients | p50 | p99 | answers/s |", "|---|---|---|---|---|---|"]
    for run in benchmark("serving")["runs"]:
        for load in run["loads"]:
            times = f"{load['p50_ms']:,.0f} ms | {load['p99_ms']:,.0f} ms | {load['answers_per_second']:,.0f}"
            name = f"`{run['method']}` on {run['dataset']}"
            lines.append(f"| {name} | {run['candidates']:,.0f} | {load['clients']} | {times} |")
    return "\n".join(lines)


def searching_table() -> str:
    """Return the time of searches by name among millions."""
    lines = ["| names | index | what is typed | p50 | p99 | found |", "|---|---|---|---|---|---|"]
    for index in benchmark("searching")["figures"]["tripleshot"]:
        size = f"{index['names'] / 1e6:.1f} million | {index['index_mib']:,.0f} MiB, {index['build_seconds']:.1f} s"
        for kind in ("whole name", "one typo"):
            search = index["searches"][kind]
            times = f"{search['p50_ms']:.0f} ms | {search['p99_ms']:.0f} ms"
            lines.append(f"| {size} | {kind} | {times} | {search['found']:.0%} |")
    return "\n".join(lines)


def embedding_table() -> str:
    """Return the time of one epoch of each embedding method, next to PyKEEN's."""
    lines = ["| one epoch, s | PyKEEN | tripleshot | times faster |", "|---|---|---|---|"]
    for name, figures in benchmark("embedding")["figures"].items():
        times = f"{figures['pykeen']:.1f} | {figures['tripleshot']:.1f} | {figures['ratio']:.1f}"
        lines.append(f"| `{name}` | {times} |")
    return "\n".join(lines)


def evidence_table() -> str:
    """Return answers and training steps of `evidence-net` in a second, by propagation and pair by pair."""
    lines = [
        "| graph | triples | answers/s by pairs | by propagation | times | steps/s by pairs | by propagation | times |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in benchmark("evidence")["graphs"]:
        cells = [
            f"{row['plain'][what]:,.{digits}f} | {row['tripleshot'][what]:,.{digits}f} | {row['times'][what]:.1f}"
            for what, digits in (("answers", 0), ("steps", 1))
        ]
        lines.append(f"| {row['dataset']} | {row['graph']['triples']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def growth_table() -> str:
    """Return how the cost of an answer grows with a graph of the same density."""
    lines = ["| entities | triples | answers/s | candidates, median | edges of a head, mean |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(f'{value:,.0f}' for value in row.values())} |" for row in benchmark("evidence")["growth"]]
    return "\n".join(lines)


def asking_table() -> str:
    """Return what asking costs at Wiki-One's size."""
    figures = benchmark("scale-answering")["figures"]
    lines = ["| at Wiki-One's size | time | peak memory |", "|---|---|---|"]
    for turn, about in (("built", "all indexes, built once"), ("opened", "all indexes, opened again")):
        found = figures["indexes"][turn]
        lines.append(f"| {about} | {sum(found['seconds'].values()):.1f} s | {found['peak_mib']:,} MiB |")
    for method in ("evidence", "evidence-net"):
        found = figures[method]
        for name, about in (("ask", "`ask`, one head, the whole command"), ("serve", "`serve`, until it is ready")):
            lines.append(f"| {about}, `{method}` | {found[name]['seconds']:.1f} s | {found[name]['peak_mib']:,} MiB |")
        answers = found["answers"]
        about = f"one answer among {answers['candidates']:,} candidates, p50, `{method}`"
        lines.append(f"| {about} | {answers['p50_ms']:.0f} ms | {answers['peak_mib']:,} MiB |")
    return "\n".join(lines)


def training_memory_table() -> str:
    """Return what trainings take at Wiki-One's size, next to PyKEEN's TransE."""
    figures = benchmark("scale")["figures"]
    figures["training"] |= benchmark("scale-evidence-net")["figures"]["training"]
    lines = ["| training at Wiki-One's size | steps | peak memory |", "|---|---|---|"]
    for section, label in (("training", "`{}`"), ("pykeen", "PyKEEN's {}, its first batches")):
        for name, found in figures[section].items():
            memory = f"{found['peak_mib'] / 1024:.1f} GiB"
            lines.append(f"| {label.format(name)} | {found['steps']} | {memory} |")
    return "\n".join(lines)


BENCHMARK_TABLES = {
    "embedding": embedding_table,
    "ingest": ingest_table,
    "speed": speed_table,
    "step": step_table,
    "step-parts": step_parts_table,
    "step-products": step_products_table,
    "step-limit": step_limit,
    "serving": serving_table,
    "searching": searching_table,
    "evidence": evidence_table,
    "growth": growth_table,
    "asking": asking_table,
    "training-memory": training_memory_table,
}
