"""What both RSCL benchmarks need: data of NELL-One's size, the work of a pass, and the machine's own rate."""

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.evaluation.results import commit
from tripleshot.evaluation.validation import Validation
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.methods.rscl.tokens import PAD

SHOTS = 5
OURS, PLAIN = "tripleshot", "plain"
PACKAGES = ("tripleshot", "numpy", "torch")
GEMM_SHAPES = ((1024, 100, 400), (2048, 100, 100), (1024, 400, 100), (1024, 1024, 1024), (2048, 512, 512))


def data_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that choose data, threads and where figures go."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="nell-one", help="a dataset of the catalog, or a folder")
    parser.add_argument("--synthetic", action="store_true", help="a random graph of NELL-One's size instead")
    parser.add_argument("--threads", type=int, help="of torch; its own choice by default")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser


def no_validation(*limits: object) -> Validation:
    """Stand in for the validation of a trainer whose steps alone are measured."""
    return Validation(np.ones(1), 1)


def load_data(arguments: argparse.Namespace) -> FewShotDataset:
    """Set the threads and load the data."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    return synthetic_dataset() if arguments.synthetic else load_dataset(arguments.data)


def synthetic_dataset(
    num_entities: int = 68_544, num_relations: int = 291, num_triples: int = 181_109, num_candidates: int = 3600
) -> FewShotDataset:
    """Return a random graph, of NELL-One's size by default, in which a few entities have most of the edges."""
    rng = np.random.default_rng(0)

    def popular(count: int) -> np.ndarray:
        return (num_entities * rng.random(count) ** 3).astype(np.int64)

    def task(number: int) -> Task:
        candidates = np.unique(rng.integers(num_entities, size=num_candidates))
        heads, tails = rng.choice(popular(90), 196), rng.choice(candidates, 196)
        pairs = rng.permutation(np.unique(np.stack([heads, tails], axis=1), axis=0))
        return Task.of(f"task {number}", pairs, given_candidates=candidates)

    ends = np.concatenate([np.arange(num_entities), popular(2 * num_triples - num_entities)])
    heads, tails = rng.permutation(ends).astype(np.int32).reshape(2, -1)
    relations = (num_relations * rng.random(num_triples) ** 3).astype(np.int32)
    entity_names = Vocabulary.of("entity", [f"entity {number}" for number in range(num_entities)])
    relation_names = Vocabulary.of("relation", [f"relation {number}" for number in range(num_relations)])
    tasks = [task(number) for number in range(67)]
    graph = KnowledgeGraph(entity_names, relation_names, heads, relations, tails)
    return FewShotDataset("synthetic", graph, tuple(tasks[:51]), tuple(tasks[51:56]), tuple(tasks[56:]))


def untrained_method(dataset: FewShotDataset, settings: RSCLSettings, shots: int = 5) -> RSCLMethod:
    """Return the method with an untrained network, the same for the same seed."""
    method = RSCLMethod(settings)
    method.prepare(dataset, shots)
    return method


def states_flops(settings: RSCLSettings, batch: ContextBatch, read: torch.Tensor) -> float:
    """Count the encoder's work for the states at `read`, shape (n, 4p + 3), of the tokens that are there."""
    width = settings.width
    inner = -(-width // settings.num_heads) * settings.num_heads
    lengths, reads = (batch.tokens != PAD).sum(1).double(), read.sum(1).double()
    for_key_value, for_others = 4 * width * inner, 4 * width * inner + 16 * width**2  # a token
    full = lengths.sum() * (for_key_value + for_others) + 4 * inner * (lengths**2).sum()
    last = lengths.sum() * for_key_value + reads.sum() * for_others + 4 * inner * (lengths * reads).sum()
    return float((settings.num_layers - 1) * full + last)


def forward_flops(settings: RSCLSettings, batch: ContextBatch) -> float:
    """Count the work of both encoders for the representations of a batch."""
    width, num_pairs = settings.width, float((batch.direct_heads + batch.direct_tails).sum())
    local = num_pairs * 4 * width + len(batch.tokens) * (16 + 8 + 2) * width**2 + 8 * width**2
    return states_flops(settings, batch, batch.is_direct()) + local


def gemm_rate(repeats: int = 10, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the machine's own rate in FLOP/s: the best of several fp32 matrix products, by the clock of the steps."""
    best = 0.0
    for rows, inner, columns in GEMM_SHAPES:
        left, right, product = torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns)
        for _ in range(repeats):
            times = max(1, 200_000_000 // (rows * inner * columns))
            started = clock()
            for _ in range(times):
                torch.mm(left, right, out=product)
            best = max(best, times * 2 * rows * inner * columns / (clock() - started))
    return best


def describe_machine() -> dict[str, Any]:
    """Return the command, the machine and the versions behind the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "command": shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "commit": commit(),
        "machine": {
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "memory_gib": round(memory, 1),
            "processor": platform.machine(),
            "vectors": torch.backends.cpu.get_cpu_capability(),
        },
        "versions": {"python": platform.python_version()} | {package: version(package) for package in PACKAGES},
    }


def describe_run(dataset: FewShotDataset, settings: RSCLSettings) -> dict[str, Any]:
    """Return the command, the machine, the versions and the data behind the figures."""
    graph = dataset.graph
    return describe_machine() | {
        "dataset": dataset.name,
        "data_hash": dataset.content_hash,
        "graph": {"entities": graph.num_entities, "relations": graph.num_relations, "triples": graph.num_triples},
        "configuration": {
            name: getattr(settings, name)
            for name in ("width", "num_layers", "num_heads", "max_neighbors", "max_distant", "dropout", "num_sampled")
        }
        | {"shots": SHOTS, "batch_size": settings.batch_size, "num_negatives": settings.num_negatives},
    }
