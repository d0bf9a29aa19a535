"""What is served is replaced while it is: nobody waits, nothing is lost, and a broken one never takes its place."""

import asyncio
import fcntl
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from server.conftest import QUESTION, SlowMethod, connect, predictor_of
from server.test_command import serving
from tripleshot.answering.loading import open_predictor
from tripleshot.answering.predictor import Predictor
from tripleshot.errors import InputError
from tripleshot.server import Limits, create_app

PATIENCE = 60  # seconds, after which a test fails
NOT_RELOADED = "not reloaded, what was served before is served on"


def figures(address: str) -> dict[str, float]:
    lines = [line for line in httpx.get(f"{address}/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def reload(process: subprocess.Popen, address: str, result: str) -> None:
    """Tell a server to reload, and wait until it has, or has failed to."""
    name = f'tripleshot_reloads_total{{result="{result}"}}'
    before = figures(address)[name]
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: figures(address)[name] > before)


def write_graph(path: Path, *cities: str) -> None:
    rows = "".join(f"{city},lies in,Land of {city}\n" for city in cities)
    path.write_text("head,relation,tail\n" + rows)


def test_a_graph_that_has_changed_is_served_after_a_hangup(tmp_path):
    write_graph(tmp_path / "graph.csv", "Baku", "Riga")
    with serving(tmp_path / "graph.csv") as (process, address, _):
        loaded = figures(address)["tripleshot_loaded_timestamp_seconds"]
        write_graph(tmp_path / "graph.csv", "Baku", "Riga", "Lima")
        assert httpx.get(f"{address}/about").json()["num_triples"] == 2
        reload(process, address, "done")
        assert httpx.get(f"{address}/about").json()["num_triples"] == 3
        assert httpx.get(f"{address}/ready").status_code == 200
        assert httpx.get(f"{address}/entities?q=lima").json()["entities"][0]["name"] == "Lima"
        assert figures(address)["tripleshot_loaded_timestamp_seconds"] > loaded


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_run_with_a_flipped_bit_leaves_the_old_one_serving(network_run, tmp_path):
    run = shutil.copytree(network_run, tmp_path / "run")
    names = ["config.json", "weights.safetensors", "calibration.json", "vocabulary.arrow"]
    with serving(run, "--log", "json") as (process, address, lines):
        address = address.partition('"')[0]
        before = httpx.post(f"{address}/answer", json=QUESTION, timeout=PATIENCE).json()["results"]
        for name in names:
            flip(run / name)
            reload(process, address, "failed")
            assert httpx.post(f"{address}/answer", json=QUESTION, timeout=PATIENCE).json()["results"] == before
            shutil.copy(network_run / name, run / name)
            reload(process, address, "done")
            assert httpx.post(f"{address}/answer", json=QUESTION, timeout=PATIENCE).json()["results"] == before
    records = [json.loads(line) for line in lines]
    errors = [record["message"] for record in records if record["level"] == "error"]
    assert len(errors) == len(names)
    for name, message in zip(names, errors, strict=True):
        assert message.startswith(NOT_RELOADED)
        assert name in message


def test_a_run_that_is_gone_leaves_the_old_one_serving(network_run, tmp_path):
    run = shutil.copytree(network_run, tmp_path / "run")
    with serving(run) as (process, address, lines):
        shutil.rmtree(run)
        reload(process, address, "failed")
        assert httpx.post(f"{address}/answer", json=QUESTION, timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert NOT_RELOADED in "".join(lines)


def _take_terminal() -> None:
    """Make standard input the terminal of this process, whose end it notices even if nohup started the tests."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_server_whose_terminal_is_closed_ends(tmp_path):
    write_graph(tmp_path / "graph.csv", "Baku", "Riga")
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tripleshot", "serve", str(tmp_path / "graph.csv"), "--port", "0"],
        stdin=theirs,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_take_terminal,
        text=True,
    )
    os.close(theirs)
    with process:
        try:
            assert process.stderr is not None
            assert "running on" in process.stderr.readline()
            os.close(ours)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_a_request_under_way_is_finished_by_what_it_began_with():
    slow, quick = SlowMethod(), SlowMethod()
    quick.may_go_on.set()
    app = create_app(predictor_of("slow", slow), Limits(), None, load=lambda: predictor_of("quick", quick))

    async def ask() -> None:
        async with connect(app) as client:
            first = asyncio.create_task(client.post("/answer", json=QUESTION))
            await asyncio.to_thread(slow.has_begun.wait, PATIENCE)
            await app.state.served.reload()
            assert (await client.get("/about")).json()["method"] == "quick"
            second = await client.post("/answer", json=QUESTION)
            assert not first.done()
            slow.may_go_on.set()
            assert (await first).json()["results"] == second.json()["results"]

    asyncio.run(ask())
    assert slow.num_scored == quick.num_scored == 1


def test_what_was_served_before_is_freed(tmp_path):
    write_graph(tmp_path / "graph.csv", "Baku", "Riga")
    predictor = open_predictor(str(tmp_path / "graph.csv"))
    old = weakref.ref(predictor)
    app = create_app(predictor, Limits(), None, load=lambda: open_predictor(str(tmp_path / "graph.csv")))
    del predictor

    async def ask() -> None:
        async with connect(app) as client:
            question = {"relation": "lies in", "heads": ["Baku"], "with_known": True}
            assert (await client.post("/answer", json=question)).status_code == 200
            await app.state.served.reload()

    asyncio.run(ask())
    gc.collect()
    assert old() is None


@pytest.mark.parametrize("error", [InputError("broken"), RuntimeError("broken"), MemoryError()])
def test_whatever_goes_wrong_the_old_one_is_served_on(predictor, caplog, error):
    def load() -> Predictor:
        raise error

    app = create_app(predictor, Limits(), None, load=load)
    asyncio.run(app.state.served.reload())
    assert app.state.served.service.predictor is predictor
    (record,) = [record for record in caplog.records if record.name == "tripleshot.server.reloading"]
    assert record.getMessage().startswith(NOT_RELOADED)
    assert record.levelname == "ERROR"


def test_calls_during_a_load_are_followed_by_one_more(predictor):
    loads, may_go_on = [], threading.Event()

    def load() -> Predictor:
        loads.append(len(loads))
        assert may_go_on.wait(PATIENCE)
        return predictor

    served = create_app(predictor, Limits(), None, load=load).state.served

    async def call() -> None:
        first = asyncio.create_task(served.reload())
        while not loads:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(served.reload()) for _ in range(5)]
        await asyncio.sleep(0)
        may_go_on.set()
        await asyncio.gather(first, *others)

    asyncio.run(call())
    assert loads == [0, 1]


def test_the_end_does_not_wait_for_a_load(tmp_path):
    script = (
        "import time, tripleshot.answering.loading as loading\n"
        "opened = iter([loading.open_predictor, lambda *_: time.sleep(600)])\n"
        "loading.open_predictor = lambda *given: next(opened)(*given)\n"
        "from tripleshot.cli import main; main()"
    )
    write_graph(tmp_path / "graph.csv", "Baku", "Riga")
    with serving(tmp_path / "graph.csv", program=("-c", script)) as (process, address, _):
        process.send_signal(signal.SIGHUP)
        assert httpx.get(f"{address}/about").json()["num_triples"] == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
