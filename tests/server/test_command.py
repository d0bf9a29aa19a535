"""A real process: it answers, and stops well."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from server.conftest import EXAMPLES

HEADS = ["city/baku-az", "city/odesa-ua", "city/mumbai-in", "city/lisbon-pt"]
PROGRAM = ("-m", "tripleshot")


@contextmanager
def serving(
    run: Path, *options: str, program: tuple[str, str] = PROGRAM
) -> Generator[tuple[subprocess.Popen, str, list[str]]]:
    """Start a server on a free port; give its process, its address and the lines it has written."""
    command = [sys.executable, *program, "serve", str(run), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    lines: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"running on (http://\S+)", line):
            break
    else:
        pytest.fail("".join(lines))
    drain = threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True)
    drain.start()
    try:
        yield process, found[1], lines
    finally:
        process.kill()
        process.wait()
        drain.join()
        process.stderr.close()


def test_a_server_that_is_told_to_stop_finishes_running_requests_and_ends_well(evidence_run):
    with serving(evidence_run) as (process, address, _):
        question = {"examples": EXAMPLES, "heads": HEADS * 25, "top": 3, "candidates": "all"}
        answers: list[httpx.Response] = []

        def ask() -> None:
            answers.append(httpx.post(f"{address}/answer", json=question, timeout=60))

        asking = threading.Thread(target=ask)
        asking.start()
        while "tripleshot_running_requests 0.0" in httpx.get(f"{address}/metrics").text and not answers:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        asking.join()
        assert len(answers[0].json()["results"]) == 100


def test_a_server_that_others_can_reach_without_a_token_warns(evidence_run):
    with serving(evidence_run, "--host", "0.0.0.0") as (_, _, lines):
        assert "warning: 0.0.0.0 can be reached by others, and there is no --token" in "".join(lines)


def test_a_missing_extra_is_named_in_one_line():
    script = "import sys; sys.modules['prometheus_client'] = None; from tripleshot.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", script, "serve", "x"], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr == "error: serving needs prometheus_client: pip install 'tripleshot[serve]'\n"


def test_an_empty_token_is_refused(run, evidence_run, monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_TOKEN", "")
    code, _, err = run("serve", evidence_run)
    assert code == 1
    assert "token is empty" in err


def test_a_port_that_is_taken_is_one_line_of_error(run, evidence_run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("serve", evidence_run, "--port", port)
    assert code == 1
    assert err == f"error: 127.0.0.1:{port}: cannot be listened on: Address already in use\n"


def test_a_server_says_where_it_is_and_nothing_else(evidence_run):
    with serving(evidence_run) as (_, _, lines):
        assert re.fullmatch(r"running on http://127.0.0.1:\d+ \(Ctrl-C stops it\)\n", "".join(lines))


def test_a_server_that_logs_json_writes_nothing_else(evidence_run):
    with serving(evidence_run, "--log", "json") as (process, address, lines):
        address = address.partition('"')[0]
        answer = httpx.post(f"{address}/answer", json={"heads": ["nobody"]}, headers={"X-Request-ID": "one"})
        assert answer.headers["X-Request-ID"] == "one"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    records = [json.loads(line) for line in lines]
    asked = next(record for record in records if record.get("request_id") == "one")
    assert (asked["path"], asked["status"]) == ("/answer", 400)


def test_a_server_answers_to_the_names_that_it_is_told(evidence_run):
    with serving(evidence_run, "--allow-host", "graphs.example") as (_, address, _):
        for name, status in (("graphs.example", 200), ("evil.example", 421)):
            assert httpx.get(f"{address}/health", headers={"Host": name}).status_code == status


def test_trained_weights_of_evidence_answer_where_there_is_no_torch(network_run):
    script = "import sys; sys.modules['torch'] = None; from tripleshot.cli import main; main()"
    with serving(network_run, program=("-c", script)) as (_, address, _):
        answer = httpx.post(f"{address}/answer", json={"examples": EXAMPLES, "heads": HEADS}, timeout=60)
        assert answer.status_code == 200
        assert len(answer.json()["results"]) == len(HEADS)


def test_an_address_of_another_family_is_listened_on(evidence_run):
    with serving(evidence_run, "--host", "::1") as (_, address, _):
        assert address.startswith("http://[::1]:")
        assert httpx.get(f"{address}/health").json() == {"status": "ok"}


def test_a_file_is_served_with_every_triple(tmp_path):
    (tmp_path / "graph.csv").write_text("head,relation,tail\nBaku,lies in,Azerbaijan\nRiga,lies in,Latvia\n")
    with serving(tmp_path / "graph.csv") as (_, address, lines):
        about = httpx.get(f"{address}/about").json()
        assert (about["name"], about["num_triples"], about["num_relations"]) == ("graph", 2, 1)
        question = {"examples": [{"head": "Riga", "tail": "Latvia"}], "heads": ["Baku"]}
        answers = httpx.post(f"{address}/answer", json=question).json()["results"][0]["answers"]
        assert answers[0]["entity"]["name"] == "Azerbaijan"
        assert "<html" in httpx.get(address).text
    assert len(lines) == 1
