"""A server under 64 clients for minutes, alone and beside a hostile crowd: every answer, latency, and memory."""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from serving import Asked, Served

CLIENTS = 64
NUM_READINGS = 20
ATTEMPTS = 5  # to send a request whose connection is cut; its latency counts them all
WARM_UP = 0.1  # share of the time after which memory is compared with the end
CROWD = Path(__file__).with_name("hostile.py")


@dataclass(frozen=True)
class Endured:
    """What clients saw over some time.

    Attributes:
        clients: how many asked at once, each one question after the other.
        seconds: for how long.
        requests: how many were answered; `differing` of them with another answer than alone, or none.
        reconnected: how often a client's connection had been cut, and it asked again.
        p50_ms: median latency; `p99_ms` likewise.
        requests_per_second: in the mean.
        processor_seconds: of the server.
        memory: seconds since the beginning and resident MiB, of each reading.
        growth: of the memory, from the end of the warm-up to the end, as a share.
    """

    clients: int
    seconds: float
    requests: int
    differing: int
    reconnected: int
    p50_ms: float
    p99_ms: float
    requests_per_second: float
    processor_seconds: float
    memory: list[tuple[float, float]]
    growth: float


async def endure(
    served: "Served",
    questions: "list[Asked]",
    seconds: float,
    is_as_alone: "Callable[[httpx.Response, Asked], bool]",
    num_clients: int = CLIENTS,
) -> Endured:
    """Ask for some time from many clients, and read the server's memory meanwhile."""
    latencies: list[float] = []
    differing = reconnected = 0
    memory: list[tuple[float, float]] = []
    started, used = time.perf_counter(), 0.0

    async def send(client: httpx.AsyncClient, path: str, body: dict[str, Any] | None = None) -> httpx.Response | None:
        nonlocal reconnected
        for _ in range(ATTEMPTS):
            try:
                return await client.request("POST" if body else "GET", path, json=body)
            except httpx.TransportError:
                reconnected += 1
        return None

    async def ask(client: httpx.AsyncClient, number: int) -> None:
        nonlocal differing
        while time.perf_counter() - started < seconds:
            asked = questions[number % len(questions)]
            begun = time.perf_counter()
            response = await send(client, "/answer", asked.body)
            latencies.append(time.perf_counter() - begun)
            differing += response is None or not is_as_alone(response, asked)
            number += num_clients

    async def watch() -> None:
        for reading in range(NUM_READINGS + 1):
            await asyncio.sleep(max(started + reading * seconds / NUM_READINGS - time.perf_counter(), 0))
            memory.append((round(time.perf_counter() - started, 1), served.memory()))

    async with AsyncExitStack() as stack:
        opened = [httpx.AsyncClient(base_url=served.address, timeout=600) for _ in range(num_clients)]
        clients = [await stack.enter_async_context(client) for client in opened]
        await asyncio.gather(*(send(client, "/health") for client in clients))
        started, used = time.perf_counter(), served.processor_seconds()
        await asyncio.gather(watch(), *(ask(client, number) for number, client in enumerate(clients)))
    elapsed, used = time.perf_counter() - started, served.processor_seconds() - used
    p50, p99 = (1000 * float(np.quantile(latencies, share)) for share in (0.5, 0.99))
    rate, warm = len(latencies) / elapsed, memory[round(WARM_UP * NUM_READINGS)][1]
    counts = (num_clients, elapsed, len(latencies), differing, reconnected)
    return Endured(*counts, p50, p99, rate, used, memory, memory[-1][1] / warm - 1)


@contextmanager
def hostile_crowd(address: str, seconds: float) -> "Generator[dict[str, Any]]":
    """Let a crowd loose in a process of its own; what came of it is in the dictionary afterwards."""
    command = [sys.executable, str(CROWD), address, "--seconds", str(seconds)]
    process, found = subprocess.Popen(command, stdout=subprocess.PIPE, text=True), {}
    try:
        yield found
        found.update(json.loads(process.communicate(timeout=seconds + 120)[0]))
    finally:
        process.kill()
        process.wait()


def measure_endurance(
    served: "Served",
    questions: "list[Asked]",
    minutes: float,
    is_hostile: bool,
    is_as_alone: "Callable[[httpx.Response, Asked], bool]",
) -> dict[str, Any]:
    """Measure a server alone and, if asked to, beside a hostile crowd for as long again."""
    seconds = 60 * minutes
    calm = asyncio.run(endure(served, questions, seconds, is_as_alone))
    figures: dict[str, Any] = {"calm": asdict(calm)}
    if is_hostile:
        with hostile_crowd(served.address, seconds) as crowd:
            hostile = asyncio.run(endure(served, questions, seconds, is_as_alone))
        figures |= {"hostile": asdict(hostile), "crowd": crowd, "p99_ratio": hostile.p99_ms / calm.p99_ms}
    return figures


def show_endurance(measured: dict[str, dict[str, Any]]) -> None:
    """Print a row for each server and kind of time."""
    table = Table("server", "beside", "requests", "differing", "p50 ms", "p99 ms", "requests/s", "MiB")
    for name, figures in measured.items():
        for kind in ("calm", "hostile"):
            if kind in figures:
                seen = figures[kind]
                cells = (f"{seen['p50_ms']:,.1f}", f"{seen['p99_ms']:,.1f}", f"{seen['requests_per_second']:,.1f}")
                memory = f"{seen['memory'][-1][1]:,.0f} ({seen['growth']:+.1%})"
                beside = "nobody" if kind == "calm" else "a crowd"
                table.add_row(name, beside, f"{seen['requests']:,}", f"{seen['differing']}", *cells, memory)
    console = Console()
    console.print(table)
    for name, figures in measured.items():
        if "crowd" in figures:
            console.print(f"{name}: p99 {figures['p99_ratio']:.2f} times as long beside the crowd, {figures['crowd']}")
