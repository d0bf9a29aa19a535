"""A real server on loopback: silent, slow and greedy clients keep nobody out."""

import asyncio
import socket
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection

import httpx
import pytest
import uvicorn

from server.conftest import QUESTION, SlowMethod, predictor_of
from tripleshot.answering.predictor import Predictor
from tripleshot.server import Limits, create_app, open_socket
from tripleshot.server.app import configure

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE = 20  # seconds, after which a test fails


@contextmanager
def serving(predictor: Predictor, limits: Limits) -> Generator[tuple[str, int]]:
    """Serve from a thread of this process; give the address."""
    with serving_from_here(predictor, limits) as server:
        yield address_of(server)


@contextmanager
def serving_from_here(predictor: Predictor, limits: Limits) -> Generator[uvicorn.Server]:
    with open_socket("127.0.0.1", 0) as opened:
        server = uvicorn.Server(configure(create_app(predictor, limits, None), limits))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([opened])))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield server
        finally:
            server.should_exit = True
            thread.join()


def connect(address: tuple[str, int], source: str = "127.0.0.1") -> socket.socket:
    opened = socket.create_connection(address, PATIENCE, source_address=(source, 0))
    opened.settimeout(PATIENCE)
    return opened


def trickle(opened: socket.socket) -> None:
    """Send a byte soon, and another, and never all of them."""
    for _ in range(1000):
        opened.sendall(b"x")
        time.sleep(0.02)


def address_of(server: uvicorn.Server) -> tuple[str, int]:
    return server.servers[0].sockets[0].getsockname()


def is_cut(opened: socket.socket) -> bool:
    """Wait until the server ends a connection without an answer."""
    try:
        return opened.recv(1) == b""
    except ConnectionResetError:
        return True


def is_healthy(address: tuple[str, int], source: str = "127.0.0.1") -> bool:
    with connect(address, source) as opened:
        opened.sendall(HEALTH)
        return opened.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("limits", [Limits(max_connections=20), Limits(max_per_address=20)])
def test_silent_connections_beyond_the_limit_make_room_and_keep_nobody_out(predictor, limits):
    with serving(predictor, limits) as address, ExitStack() as stack:
        silent = [stack.enter_context(connect(address)) for _ in range(200)]
        assert is_healthy(address)
        assert all(is_cut(opened) for opened in silent[:180])
        counted = httpx.get(f"http://127.0.0.1:{address[1]}/metrics").text
        assert 'tripleshot_dropped_connections_total{reason="room"} 18' in counted  # 181 or so
        silent[-1].sendall(HEALTH)
        assert silent[-1].recv(1000).startswith(b"HTTP/1.1 200")


def test_a_burst_of_silent_connections_cuts_off_nobody_between_two_requests(predictor):
    with serving(predictor, Limits(max_per_address=20)) as address, ExitStack() as stack:
        client = HTTPConnection(*address, timeout=PATIENCE)
        stack.callback(client.close)
        for _ in range(2):  # on one connection
            client.request("GET", "/health")
            assert client.getresponse().read() == b'{"status":"ok"}'
            for _ in range(50):
                stack.enter_context(connect(address))
        assert is_healthy(address)


def test_a_burst_of_silent_connections_cuts_off_nobody_who_has_just_asked(predictor):
    with serving_from_here(predictor, Limits(max_per_address=20)) as server, ExitStack() as stack:
        address, may_go_on = address_of(server), threading.Event()
        server.servers[0].get_loop().call_soon_threadsafe(may_go_on.wait, PATIENCE)  # the server is busy
        client = stack.enter_context(connect(address))
        client.sendall(HEALTH)
        for _ in range(50):
            stack.enter_context(connect(address))
        may_go_on.set()
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_crowd_from_one_address_takes_no_place_of_another(predictor):
    with serving(predictor, Limits(max_connections=40, max_per_address=20)) as address, ExitStack() as stack:
        other = stack.enter_context(connect(address, "127.0.0.2"))
        for _ in range(200):
            stack.enter_context(connect(address))
        other.sendall(HEALTH)
        assert other.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_request_that_is_being_answered_is_not_cut_for_others():
    slow = SlowMethod()
    with serving(predictor_of("slow", slow), Limits(max_connections=1)) as address:
        answers: list[httpx.Response] = []
        url = f"http://127.0.0.1:{address[1]}/answer"
        asking = threading.Thread(target=lambda: answers.append(httpx.post(url, json=QUESTION, timeout=PATIENCE)))
        asking.start()
        assert slow.has_begun.wait(PATIENCE)
        with connect(address) as refused:
            assert is_cut(refused)
        slow.may_go_on.set()
        asking.join()
        assert answers[0].status_code == 200


@pytest.mark.parametrize("beginning", [b"", b"GET /health HTTP/1.1\r\n", HEALTH])
def test_headers_that_do_not_become_whole_in_time_end_the_connection(predictor, beginning):
    with serving(predictor, Limits(header_seconds=0.3)) as address, connect(address) as opened:
        opened.sendall(beginning)
        if beginning == HEALTH:  # and the next request on the same connection is never sent whole
            assert opened.recv(1000)
        with pytest.raises(OSError, match=r"reset|pipe"):
            trickle(opened)


def test_an_answer_that_is_not_read_ends_the_connection(predictor, monkeypatch):
    monkeypatch.setattr("tripleshot.server.connections.EXTRA_SECONDS", 0.1)
    limits = Limits(max_seconds=0.5)
    with serving_from_here(predictor, limits) as server, connect(address_of(server)) as opened:
        opened.sendall(b"GET /cytoscape/cytoscape.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40)
        assert opened.recv(1)
        end = time.monotonic() + PATIENCE
        while server.server_state.connections:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_parts_of_an_answer_do_not_wait_for_each_other_on_a_kept_connection(predictor):
    with serving_from_here(predictor, Limits()) as server, connect(address_of(server)) as opened:
        opened.sendall(HEALTH)
        assert opened.recv(1)
        (kept,) = server.server_state.connections
        accepted = kept.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_many_requests_on_one_connection_are_answered(predictor):
    with serving(predictor, Limits()) as address, httpx.Client(base_url=f"http://127.0.0.1:{address[1]}") as client:
        assert {client.get("/health").status_code for _ in range(50)} == {200}
    with serving(predictor, Limits()) as address, connect(address) as opened:
        opened.sendall(HEALTH * 3)
        found = b""
        while found.count(b'{"status":"ok"}') < 3:
            found += opened.recv(10_000)
