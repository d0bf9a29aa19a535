"""Ask a real server: latency, answers a second and memory, every response compared with the answer computed alone.

Starts `tripleshot serve` for each run, asks questions of the test tasks from 1, 8 and 64 clients at once, and compares
every response with what the library says in this process. Candidates are types of entities that make up 2,000 together.
Connections are open before the clock starts. Then one server answers many small questions in a row while its memory is
watched.

    python benchmarks/serving.py --run atlas-run --run nell-run --json results/benchmarks/serving.json

With --minutes, 64 clients ask graphs with the universal weights for so long, and with --hostile once more beside a
thousand silent sockets and a stream of requests that are too large (`hostile.py`). That takes as many minutes for each
graph, twice as many with --hostile.

    python benchmarks/serving.py --graph atlas --graph nell-one --minutes 10 --hostile --json enduring.json
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from rich.console import Console
from rich.table import Table

from enduring import measure_endurance, show_endurance
from measuring import describe_machine
from tripleshot.answering.loading import load, open_predictor
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.ranking import Candidates
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.evaluation.results import write_json
from tripleshot.graph.knowledge_graph import KnowledgeGraph

TOP = 10
CLIENTS = (1, 8, 64)
MAX_QUESTIONS = 32  # different ones, asked again and again
WATCHED_CLIENTS = 8
NUM_READINGS = 10


@dataclass(frozen=True)
class Asked:
    """A question with the answer computed alone: tail ids and scores."""

    body: dict[str, Any]
    expected: list[tuple[int, float]]
    num_candidates: int


@dataclass(frozen=True)
class Load:
    """What some clients saw.

    Attributes:
        clients: how many asked at once.
        requests: how many in all; `differing` of them got another answer than alone, or none.
        p50_ms: median latency; `p99_ms` likewise.
        answers_per_second: heads answered in a second.
    """

    clients: int
    requests: int
    differing: int
    p50_ms: float
    p99_ms: float
    answers_per_second: float


@dataclass(frozen=True)
class Served:
    """A server process and its address."""

    process: subprocess.Popen[str]
    address: str

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024

    def processor_seconds(self) -> float:
        """Return the processor time that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(source: Path | str, *options: str) -> Generator[Served]:
    """Start a server on a free port, and stop it."""
    words = [str(source), "--port", "0", *(options or ("--max-seconds", "600"))]
    command = [sys.executable, "-m", "tripleshot", "serve", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        addresses = (re.search(r"running on (http://\S+)", line) for line in process.stderr)
        yield Served(process, next(found[1] for found in addresses if found))
    finally:
        process.terminate()
        process.communicate()


def types_of_size(graph: KnowledgeGraph, num_candidates: int) -> tuple[str, ...]:
    """Return types that have about so many entities together: the largest that still fits, again and again."""
    assert graph.types is not None
    sizes = np.bincount(graph.types.values, minlength=len(graph.types.names))
    chosen, remaining = [], num_candidates
    for place in np.argsort(-sizes, kind="stable").tolist():
        if 0 < sizes[place] <= remaining:
            chosen.append(graph.types.names[place])
            remaining -= int(sizes[place])
    return tuple(chosen)


def make_questions(
    predictor: Predictor, num_candidates: int, count: int = MAX_QUESTIONS, tasks: FewShotDataset | None = None
) -> list[Asked]:
    """Take questions of the test tasks in turn, and answer them alone; 0 candidates means what the examples suggest.

    A predictor of a whole graph has no tasks; those of its dataset, which has the same ids, are then given.
    """
    shots, dataset = predictor.shots, tasks or predictor.dataset
    candidates: Candidates = types_of_size(predictor.graph, num_candidates) if num_candidates else "open"
    questions = []
    for number in range(count):
        task = dataset.test[number % len(dataset.test)]
        support, heads = task.support(shots), np.unique(task.queries(shots)[:, 0])
        head = int(heads[number // len(dataset.test) % len(heads)])
        body = {
            "examples": [{"head": first, "tail": last} for first, last in support.tolist()],
            "heads": [head],
            "top": TOP,
            "candidates": candidates,
        }
        question = predictor.question(support.tolist())
        pool = predictor.candidates_for(question, candidates)
        ranked = predictor.rank_for(question, head, pool, TOP)
        expected = list(zip(ranked.tails.tolist(), ranked.scores.tolist(), strict=True))
        questions.append(Asked(body, expected, len(pool)))
    return questions


async def ask(address: str, questions: list[Asked], num_clients: int, num_requests: int) -> Load:
    """Ask from several clients at once, each one question after the other."""
    seconds: list[float] = []
    differing = 0
    remaining = iter(range(num_requests))

    async def ask_some(client: httpx.AsyncClient) -> None:
        nonlocal differing
        for number in remaining:
            asked = questions[number % len(questions)]
            started = time.perf_counter()
            response = await client.post("/answer", json=asked.body)
            seconds.append(time.perf_counter() - started)
            differing += not is_as_alone(response, asked)

    async with AsyncExitStack() as stack:
        opened = [httpx.AsyncClient(base_url=address, timeout=600) for _ in range(num_clients)]
        clients = [await stack.enter_async_context(client) for client in opened]
        await asyncio.gather(*(client.get("/health") for client in clients))
        started = time.perf_counter()
        await asyncio.gather(*(ask_some(client) for client in clients))
        elapsed = time.perf_counter() - started
    p50, p99 = (1000 * float(np.quantile(seconds, share)) for share in (0.5, 0.99))
    return Load(num_clients, num_requests, differing, p50, p99, num_requests / elapsed)


def is_as_alone(response: httpx.Response, asked: Asked) -> bool:
    """Compare a response with the answer computed alone, to the last bit."""
    if response.status_code != httpx.codes.OK:
        return False
    answers = response.json()["results"][0]["answers"]
    return [(each["entity"]["id"], each["score"]) for each in answers] == asked.expected


def measure_loads(run: Path, predictor: Predictor, num_candidates: int, num_requests: int) -> dict[str, Any]:
    """Measure a run under one client and under many."""
    questions = make_questions(predictor, num_candidates)
    with serving(run) as served:
        asyncio.run(ask(served.address, questions, 1, len(questions)))  # whatever is slow the first time
        loads = [asyncio.run(ask(served.address, questions, clients, num_requests)) for clients in CLIENTS]
    return {
        "dataset": predictor.dataset.name,
        "data_hash": predictor.dataset.content_hash,
        "method": predictor.name,
        "shots": predictor.shots,
        "candidates": float(np.mean([question.num_candidates for question in questions])),
        "loads": [asdict(seen) for seen in loads],
    }


def watch_memory(run: Path, predictor: Predictor, num_requests: int) -> dict[str, Any]:
    """Read the server's memory in MiB while it answers questions with few candidates, one reading every tenth."""
    questions = make_questions(predictor, 0, count=4)
    with serving(run) as served:
        asyncio.run(ask(served.address, questions, WATCHED_CLIENTS, max(num_requests // NUM_READINGS, 1)))
        readings, differing = [served.memory()], 0
        for _ in range(NUM_READINGS):
            seen = asyncio.run(ask(served.address, questions, WATCHED_CLIENTS, max(num_requests // NUM_READINGS, 1)))
            differing += seen.differing
            readings.append(served.memory())
    return {
        "dataset": predictor.dataset.name,
        "method": predictor.name,
        "requests": num_requests,
        "differing": differing,
        "mib": readings,
        "growth": readings[-1] / readings[0] - 1,
    }


def show(measured: list[dict[str, Any]], memory: dict[str, Any]) -> None:
    """Print one row for each run and number of clients."""
    table = Table("run", "candidates", "clients", "requests", "differing", "p50 ms", "p99 ms", "answers/s")
    for column in table.columns[1:]:
        column.justify = "right"
    for figures in measured:
        for seen in figures["loads"]:
            table.add_row(
                f"{figures['method']} on {figures['dataset']}",
                f"{figures['candidates']:,.0f}",
                f"{seen['clients']}",
                f"{seen['requests']:,}",
                f"{seen['differing']}",
                f"{seen['p50_ms']:,.1f}",
                f"{seen['p99_ms']:,.1f}",
                f"{seen['answers_per_second']:,.1f}",
            )
    console = Console()
    console.print(table)
    console.print(
        f"memory over {memory['requests']:,} requests ({memory['method']} on {memory['dataset']}): "
        f"{memory['mib'][0]:,.1f} MiB, then {memory['mib'][-1]:,.1f} MiB ({memory['growth']:+.2%}), "
        f"{memory['differing']} differing"
    )


def main() -> None:
    """Measure every run, watch the memory of the first, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, action="append", default=[], help="a trained run; may be repeated")
    parser.add_argument("--data", action="append", default=[], help="where the dataset of each run is, if it moved")
    parser.add_argument("--graph", action="append", default=[], help="a dataset asked with the universal weights")
    parser.add_argument("--requests", type=int, default=640, help="for each number of clients")
    parser.add_argument("--candidates", type=int, default=2000, help="of a question, about; 0: the examples decide")
    parser.add_argument("--memory-requests", type=int, default=10_000, help="while the first run's memory is watched")
    parser.add_argument("--minutes", type=float, default=10.0, help="that 64 clients ask each graph")
    parser.add_argument("--hostile", action="store_true", help="and again beside a hostile crowd")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    if arguments.run:
        given = zip(arguments.run, arguments.data or [None] * len(arguments.run), strict=True)
        predictors = {run: load(run, data) for run, data in given}
        sizes = (arguments.candidates, arguments.requests)
        figures["runs"] = [measure_loads(run, predictor, *sizes) for run, predictor in predictors.items()]
        first = arguments.run[0]
        figures["memory"] = watch_memory(first, predictors[first], arguments.memory_requests)
        show(figures["runs"], figures["memory"])
    if arguments.graph:
        how = (arguments.candidates, arguments.minutes, arguments.hostile)
        figures["enduring"] = {}
        for graph in arguments.graph:
            figures["enduring"][Path(graph).name] = measure_graph(graph, *how)
            store(figures, arguments.json)  # what was measured for an hour is not lost by what comes after it
        show_endurance(figures["enduring"])
    store(figures, arguments.json)


def store(figures: dict[str, Any], path: Path | None) -> None:
    """Write the figures, if they are wanted."""
    if path:
        write_json(describe_machine() | figures, path)


def measure_graph(graph: str, num_candidates: int, minutes: float, is_hostile: bool) -> dict[str, Any]:
    """Let 64 clients ask a graph for some minutes with the limits that a server has by default."""
    questions = make_questions(open_predictor(graph), num_candidates, tasks=load_dataset(graph))
    with serving(graph, "--log", "text") as served:
        asyncio.run(ask(served.address, questions, 1, len(questions)))  # whatever is slow the first time
        return measure_endurance(served, questions, minutes, is_hostile, is_as_alone)


if __name__ == "__main__":
    main()
