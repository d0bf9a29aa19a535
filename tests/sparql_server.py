"""A SPARQL endpoint on this machine that executes real SPARQL over the real protocol, and misbehaves as asked.

The engine is pyoxigraph's store; this module is the HTTP in front of it. `/query` answers, `/update` changes.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import cast
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

JSON = "application/sparql-results+json"
N_TRIPLES = "application/n-triples"


@dataclass(frozen=True)
class Fault:
    """What one request gets instead of its answer.

    Attributes:
        status: of the answer; an answer of 200 is the right one, cut or replaced.
        headers: in addition.
        cut: bytes of the body after which the connection drops, or None.
        body: sent in place of the right one, or None.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    body: bytes | None = None


class SparqlServer(ThreadingHTTPServer):
    """An endpoint over `store`."""

    daemon_threads = True

    def __init__(self, store: ox.Store):
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = store
        self.faults: dict[int, Fault] = {}  # by the number of the request, from 0 on
        self.queries: list[str] = []  # of all requests, those that failed, too
        self.headers: list[dict[str, str]] = []  # of all requests, names in lower case
        self.required: dict[str, str] = {}  # headers without which the answer is 401
        self.max_rows = 0  # the server stops there without a word, as some do; 0 is no limit
        self.lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/query"

    @property
    def update_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/update"

    def handle_error(self, request, client_address):
        pass  # a client that hangs up


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self.respond(parse_qs(urlsplit(self.path).query))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        fields = parse_qs(urlsplit(self.path).query)
        if kind == "application/x-www-form-urlencoded":
            fields |= parse_qs(body)
        else:
            fields[kind.removeprefix("application/sparql-")] = [body]
        self.respond(fields)

    def respond(self, fields: dict[str, list[str]]):
        server = cast(SparqlServer, self.server)
        self.close_connection = True
        headers = {name.lower(): value for name, value in self.headers.items()}
        with server.lock:
            number = len(server.queries)
            server.queries.append((fields.get("query") or fields.get("update") or [""])[0])
            server.headers.append(headers)
        fault = server.faults.get(number, Fault())
        if any(headers.get(name.lower()) != value for name, value in server.required.items()):
            self.send(Fault(401), "text/plain", b"who are you?")
        elif fault.status != 200 or fault.body is not None:
            self.send(fault, JSON if fault.status == 200 else "text/plain", fault.body or b"not now\n")
        else:
            try:
                self.send(fault, *self.answer(fields))
            except (SyntaxError, OSError, ValueError, RuntimeError) as error:
                self.send(Fault(400), "text/plain", str(error).encode())

    def answer(self, fields: dict[str, list[str]]) -> tuple[str, bytes]:
        server = cast(SparqlServer, self.server)
        if "update" in fields:
            server.store.update(fields["update"][0])
            return "text/plain", b""
        graphs = [ox.NamedNode(name) for name in fields.get("default-graph-uri", [])]
        found = server.store.query(fields["query"][0], default_graph=graphs or None)
        if isinstance(found, ox.QueryTriples):
            return N_TRIPLES, found.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
        content = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        return JSON, self.capped(content, server.max_rows) if server.max_rows else content

    def capped(self, content: bytes, max_rows: int) -> bytes:
        document = json.loads(content)
        document["results"]["bindings"] = document["results"]["bindings"][:max_rows]
        return json.dumps(document).encode()

    def send(self, fault: Fault, kind: str, body: bytes):
        self.send_response(fault.status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **fault.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if fault.cut is None else body[: fault.cut])


@contextmanager
def sparql_server(turtle: str = "", store: ox.Store | None = None) -> Iterator[SparqlServer]:
    """Serve a store, or the triples of a text in Turtle or TriG."""
    store = ox.Store() if store is None else store
    store.load(turtle.encode(), ox.RdfFormat.TRIG)
    with SparqlServer(store) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
