"""Answer and train with evidence-net: evidence by propagation in C, and pair by pair with arrays alone, side by side.

In a training step the kernel also finds the loss and its gradient, which torch does on the plain side. Both have the
same untrained weights, answer the same test queries through the evaluation protocol and draw the same training
episodes, in turns, on one thread. The graphs are those given and a random one of FB15k-237's density (14,500 entities,
300,000 triples, 237 relations, 1% loops). A second table shows how an answer's cost grows from a tenth of the random
graph to ten times that: it follows the head's neighborhood and the candidates, not the graph.

    python benchmarks/evidence.py --data nell-one wikidata-few --json results/benchmarks/evidence.json
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from measuring import OURS, PLAIN, SHOTS, describe_machine
from synthetic import synthetic_dataset
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.results import write_json
from tripleshot.methods.evidence.evidence_index import EvidenceIndex
from tripleshot.methods.evidence.evidence_net import EvidenceNet
from tripleshot.methods.evidence.settings import EvidenceNetSettings

NUM_ENTITIES, NUM_TRIPLES, NUM_RELATIONS, SELF_LOOPS = 14_500, 300_000, 237, 0.01  # of FB15k-237
SIZES = (0.1, 1.0, 10.0)  # of the random graph, at the same density


@dataclass(frozen=True)
class Rates:
    """What one way of measuring evidence does in a second.

    Attributes:
        answers: test queries ranked among all their candidates, those with the same head together.
        steps: training steps of 64 queries with 256 wrong answers each.
        mrr: of the ranked queries, untrained: the two ways rank alike.
    """

    answers: float
    steps: float
    mrr: float


def prepare(dataset: FewShotDataset, native: bool) -> EvidenceNet:
    """Return an untrained network that has seen what features look like."""
    method = EvidenceNet(EvidenceNetSettings())
    method.prepare(dataset, SHOTS)
    method.index = EvidenceIndex(method.graph, native=native)
    if native and method.index.kernel is None:
        raise SystemExit("the kernel cannot be compiled here")
    method.stages()
    return method


def answer(method: EvidenceNet, dataset: FewShotDataset) -> tuple[float, float]:
    """Return answers per second and their MRR."""
    method.clear_cache()
    found = evaluate(method, dataset, SHOTS)
    return len(found) / found.seconds, found.mrr


def take_steps(method: EvidenceNet, count: int) -> float:
    """Return training steps per second, forward and backward."""
    rng, (stage,) = np.random.default_rng(0), method.stages()
    started = time.perf_counter()
    for step in range(count):
        sum(stage.losses(step, rng).values()).backward()  # pyrefly: ignore
    return count / (time.perf_counter() - started)


def best_of(repeats: int, measure: Callable[[], float]) -> float:
    """Return the best of several rates: what else the machine does only makes them lower."""
    return max(measure() for _ in range(repeats))


def compare(dataset: FewShotDataset, num_queries: int, repeats: int) -> dict[str, Any]:
    """Measure both on one dataset, in turns."""
    asked = sample_queries(dataset, SHOTS, num_queries, split="test")
    fewer = sample_queries(dataset, SHOTS, max(num_queries // 10, 20), split="test")
    methods = {OURS: prepare(dataset, native=True), PLAIN: prepare(dataset, native=False)}
    answers: dict[str, list[float]] = {OURS: [], PLAIN: []}
    steps: dict[str, list[float]] = {OURS: [], PLAIN: []}
    for _ in range(repeats):
        for name, method in methods.items():
            answers[name].append(answer(method, asked if name == OURS else fewer)[0])
            steps[name].append(take_steps(method, 20 if name == OURS else 4))
    ranked = {name: answer(method, fewer)[1] for name, method in methods.items()}
    rates = {name: Rates(median(answers[name]), median(steps[name]), ranked[name]) for name in methods}
    graph = dataset.graph
    return {
        "dataset": dataset.name,
        "data_hash": dataset.content_hash,
        "graph": {"entities": graph.num_entities, "relations": graph.num_relations, "triples": graph.num_triples},
        "queries": {OURS: len(evaluated(asked)), PLAIN: len(evaluated(fewer))},
        **{name: asdict(rate) for name, rate in rates.items()},
        "times": {
            "answers": rates[OURS].answers / rates[PLAIN].answers,
            "steps": rates[OURS].steps / rates[PLAIN].steps,
        },
    }


def evaluated(dataset: FewShotDataset) -> np.ndarray:
    """Return the test queries of a dataset."""
    return np.concatenate([task.queries(SHOTS) for task in dataset.test])


def dense_dataset(size: float = 1.0) -> FewShotDataset:
    """Return a random graph as dense as FB15k-237, so many times as large."""
    num_entities, num_triples = int(NUM_ENTITIES * size), int(NUM_TRIPLES * size)
    return synthetic_dataset(num_entities, num_triples, NUM_RELATIONS, self_loops=SELF_LOOPS, name="dense")


def grow(size: float, repeats: int) -> dict[str, Any]:
    """Measure answers on the random graph at another size and the same density: as many edges per entity."""
    dataset = dense_dataset(size)
    method, asked = prepare(dataset, native=True), sample_queries(dataset, SHOTS, 500, split="test")
    heads = np.unique(evaluated(asked)[:, 0])
    return {
        "entities": dataset.graph.num_entities,
        "triples": dataset.graph.num_triples,
        "answers": best_of(repeats, lambda: answer(method, asked)[0]),
        "median_candidates": median(len(dataset.candidates(task)) for task in asked.test),
        "mean_edges_of_heads": float(dataset.graph.degrees[heads].mean()),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["nell-one"], help="datasets of the catalog, or folders")
    parser.add_argument("--queries", type=int, default=2000, help="test queries per dataset; plain has a tenth")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    datasets = [load_dataset(name) for name in arguments.data]
    datasets.append(dense_dataset())
    found = [compare(dataset, arguments.queries, arguments.repeats) for dataset in datasets]
    table = Table(
        "graph", "triples", *(f"{what}, {who}" for what in ("answers/s", "steps/s") for who in (OURS, PLAIN, "times"))
    )
    for row in found:
        cells = [
            f"{row[who][what]:,.1f}" if who != "times" else f"{row[who][what]:.1f}"
            for what in ("answers", "steps")
            for who in (OURS, PLAIN, "times")
        ]
        table.add_row(row["dataset"], f"{row['graph']['triples']:,}", *cells)
    growth = [grow(size, arguments.repeats) for size in SIZES]
    sizes = Table("entities", "triples", "answers/s", "candidates, median", "edges of a head, mean")
    for row in growth:
        sizes.add_row(*(f"{value:,.0f}" for value in row.values()))
    Console().print(table, sizes)
    if arguments.json:
        write_json(describe_machine() | {"graphs": found, "growth": growth}, arguments.json)


if __name__ == "__main__":
    main()
