"""Score candidates with RSCL at the paper's NELL-One configuration: tripleshot and a plain scorer, side by side.

Both have the same weights and answer the same test queries. A single query is scored by both in turn; then a sample of
test queries, relation by relation, is ranked by both: ours through the evaluation protocol, where queries with the same
head share their scores, the plain one query by query. The full test pass is extrapolated from these rates and from
exact counts of contexts.

    python benchmarks/scoring.py --json results/benchmarks/scoring.json
"""

import time
from dataclasses import asdict, dataclass, replace
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from measuring import (
    OURS,
    PLAIN,
    SHOTS,
    data_parser,
    describe_run,
    forward_flops,
    gemm_rate,
    load_data,
    untrained_method,
)
from plain_rscl import PlainMethod
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.evaluation.protocol import evaluate, sample_queries
from tripleshot.evaluation.ranks import rank_among
from tripleshot.evaluation.results import write_json
from tripleshot.methods.rscl.contexts import ContextBatch
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import paper

TOLERANCE = 1e-4
SAMPLES = 20


@dataclass(frozen=True)
class RankedSet:
    """A set of queries ranked by both.

    Attributes:
        queries: how many.
        our_contexts: contexts we scored, heads shared; `plain_contexts` without sharing.
        our_seconds: time for all queries; `plain_seconds` likewise.
        ranks_that_differ: queries that the two rank differently.
    """

    queries: int
    our_contexts: int
    plain_contexts: int
    our_seconds: float
    plain_seconds: float
    ranks_that_differ: int


def sampled_test(dataset: FewShotDataset, shots: int, count: int) -> FewShotDataset:
    """Return the dataset with about `count` test queries, whole heads at a time, in place of its valid ones.

    A few heads with many queries would flatter us: of several samples, the one that shares as the full test does.
    """
    asked = replace(dataset, valid=dataset.test)

    def sharing(some: FewShotDataset) -> float:
        shared, alone = count_contexts(some, some.valid, shots)
        return alone / shared

    wanted = sharing(asked)
    samples = [sample_queries(asked, shots, count, seed) for seed in range(SAMPLES if count else 1)]
    return min(samples, key=lambda some: abs(sharing(some) - wanted))


def rivals_of(dataset: FewShotDataset, task: Task, head: int) -> np.ndarray:
    """Return the candidates that are not known to be true."""
    return np.setdiff1d(dataset.candidates(task), task.known_tails(head), assume_unique=True)


def count_contexts(dataset: FewShotDataset, tasks: tuple[Task, ...], shots: int) -> tuple[int, int]:
    """Count the contexts behind all queries of tasks: with shared heads, and query by query."""
    shared = alone = 0
    for task in tasks:
        for head, count in zip(*np.unique(task.queries(shots)[:, 0], return_counts=True), strict=True):
            num_rivals = len(rivals_of(dataset, task, int(head)))
            shared += num_rivals + int(count)
            alone += (num_rivals + 1) * int(count)
    return shared, alone


def rank_one_by_one(plain: PlainMethod, dataset: FewShotDataset, task: Task, shots: int) -> list[int]:
    """Return the pessimistic rank of each query, every query scored on its own."""
    support = task.support(shots)
    ranks = []
    for head, tail in task.queries(shots).tolist():
        rivals = rivals_of(dataset, task, head)
        scores = plain.score(support, head, np.append(rivals, tail))
        ranks.append(int(rank_among(scores[:-1], scores[-1:])[1][0]))
    return ranks


def score_sets(ours: RSCLMethod, plain: PlainMethod, dataset: FewShotDataset, shots: int) -> RankedSet:
    """Rank the valid queries of a dataset with both, taking turns relation by relation."""
    our_seconds = plain_seconds = 0.0
    num_queries = differ = 0
    for task in dataset.valid:
        evaluation = evaluate(ours, replace(dataset, valid=(task,)), shots, "valid")
        our_seconds += evaluation.seconds
        started = time.perf_counter()
        ranks = rank_one_by_one(plain, dataset, task, shots)
        plain_seconds += time.perf_counter() - started
        num_queries += len(ranks)
        differ += int((evaluation.ranks.pessimistic != ranks).sum())
    our_contexts, plain_contexts = count_contexts(dataset, dataset.valid, shots)
    return RankedSet(num_queries, our_contexts, plain_contexts, our_seconds, plain_seconds, differ)


def largest_difference(ours: RSCLMethod, plain: PlainMethod, dataset: FewShotDataset, shots: int) -> float:
    """Return by how much scores differ at most, over some candidates of a query of each test relation."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for task in dataset.test:
        head = int(task.queries(shots)[0, 0])
        pool = dataset.candidates(task)
        tails = rng.choice(pool, min(64, len(pool)), replace=False)
        scores = [method.score(task.support(shots), head, tails) for method in (ours, plain)]
        largest = max(largest, float(np.abs(scores[0] - scores[1]).max()))
    return largest


def single_query(
    ours: RSCLMethod, plain: PlainMethod, dataset: FewShotDataset, shots: int, repeats: int
) -> tuple[dict[str, float], float]:
    """Score the candidates of one query with both in turn.

    Returns:
        candidates scored per second by each, and the work of one candidate in FLOP.
    """
    task = min(dataset.test, key=lambda task: abs(len(dataset.candidates(task)) - 2000))
    support, head = task.support(shots), int(task.queries(shots)[0, 0])
    tails = rivals_of(dataset, task, head)
    seconds: dict[str, list[float]] = {PLAIN: [], OURS: []}
    other_support = task.pairs[1 : shots + 1]  # scored in between, so that nothing of the support is kept
    for _ in range(repeats):
        for name, method in ((PLAIN, plain), (OURS, ours)):
            method.score(other_support, head, tails[:1])
            started = time.perf_counter()
            method.score(support, head, tails)
            seconds[name].append(time.perf_counter() - started)
    contexts = ours.extractor.extract(np.full(len(tails), head), tails)
    flops = forward_flops(ours.settings, ContextBatch.of(contexts, ours.extractor)) / len(tails)
    return {name: len(tails) / median(times) for name, times in seconds.items()}, flops


def show(figures: dict[str, dict[str, float]], sets: RankedSet, machine_rate: float) -> None:
    """Print one row per scorer and their ratio."""
    columns = (
        "scorer",
        "one query: candidates/s",
        f"{sets.queries} queries: s",
        "contexts",
        "full test (extrapolated): s",
    )
    table = Table(*columns, title="Candidates scored by RSCL")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, figure in figures.items():
        table.add_row(
            name,
            f"{figure['candidates_per_second']:,.0f}",
            f"{figure['set_seconds']:.1f}",
            f"{figure['set_contexts']:,.0f}",
            f"{figure['extrapolated_full_test_seconds']:,.0f}",
        )
    keys = ("set_seconds", "set_contexts", "extrapolated_full_test_seconds")
    ratios = [figures[PLAIN][key] / figures[OURS][key] for key in keys]
    rate = figures[OURS]["candidates_per_second"] / figures[PLAIN]["candidates_per_second"]
    table.add_row("ratio", *(f"{ratio:.2f}" for ratio in (rate, *ratios)))
    console = Console()
    console.print(table)
    ours = figures[OURS]
    console.print(
        f"ours: {ours['flops_per_candidate'] / 1e6:.1f} MFLOP per candidate, {ours['gemm_share']:.0%} of the machine's "
        f"GEMM rate of {machine_rate / 1e9:,.0f} GFLOP/s"
    )


def main() -> None:
    """Check that scores agree, measure, print and store the figures."""
    parser = data_parser(__doc__)
    parser.add_argument("--queries", type=int, default=40, help="test queries to rank, about; 0 ranks all of them")
    parser.add_argument("--repeats", type=int, default=3, help="times the single query is scored; the median counts")
    parser.add_argument("--plain-batch", type=int, default=256, help="candidates the plain scorer takes at once")
    arguments = parser.parse_args()
    dataset = load_data(arguments)
    settings = paper()
    ours = untrained_method(dataset, settings)
    plain = PlainMethod(ours.module, dataset.graph, settings, arguments.plain_batch)

    difference = largest_difference(ours, plain, dataset, SHOTS)
    print(f"largest difference of scores: {difference:.1e}")
    if difference > TOLERANCE:
        raise SystemExit(f"scores differ by more than {TOLERANCE}: there is nothing to compare")
    rates = [gemm_rate()]
    per_second, flops = single_query(ours, plain, dataset, SHOTS, arguments.repeats)
    sets = score_sets(ours, plain, sampled_test(dataset, SHOTS, arguments.queries), SHOTS)
    rates.append(gemm_rate())
    print(f"{sets.ranks_that_differ} of {sets.queries} queries are ranked differently")

    full_shared, full_alone = count_contexts(dataset, dataset.test, SHOTS)
    measured = {
        PLAIN: (sets.plain_seconds, sets.plain_contexts, full_alone),
        OURS: (sets.our_seconds, sets.our_contexts, full_shared),
    }
    figures = {
        name: {
            "candidates_per_second": per_second[name],
            "set_seconds": seconds,
            "set_contexts": contexts,
            "full_test_contexts": full,
            "extrapolated_full_test_seconds": full * seconds / contexts,
        }
        for name, (seconds, contexts, full) in measured.items()
    }
    figures[OURS]["flops_per_candidate"] = flops
    figures[OURS]["gemm_share"] = flops * per_second[OURS] / max(rates)
    show(figures, sets, max(rates))
    if arguments.json:
        document = {
            "figures": figures,
            "set": asdict(sets),
            "largest_difference": difference,
            "gemm_flops_per_second": max(rates),
        }
        write_json(describe_run(dataset, settings) | document, arguments.json)


if __name__ == "__main__":
    main()
