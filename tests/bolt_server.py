"""A stand-in for a graph database: it speaks Bolt 5.4 with the official driver, and answers what it was given.

Answers are hand-written, or those of an engine that executes Cypher (`cypher_engines.py`). What was asked is in
`queries`.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any, cast

from packstream import Structure, pack, unpack

MAGIC = bytes.fromhex("6060b017")
VERSION = bytes([0, 0, 4, 5])
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
HELLO, GOODBYE, RESET, RUN, BEGIN, COMMIT, ROLLBACK = 0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13
DISCARD, PULL, TELEMETRY, ROUTE, LOGON, LOGOFF = 0x2F, 0x3F, 0x54, 0x66, 0x6A, 0x6B


@dataclass
class Answer:
    """What the server says to a query.

    Attributes:
        keys: names of the columns.
        rows: one list of values each; `packstream.node` and `packstream.relationship` make those of a graph.
        code: of a failure in place of an answer, such as Neo.ClientError.Statement.SyntaxError.
        message: of the failure.
        cuts: for each time it is asked, the rows after which the connection drops; None does not.
    """

    keys: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    code: str = ""
    message: str = ""
    cuts: list[int | None] = field(default_factory=list)


Answers = Mapping[str, Answer] | Callable[[str, Mapping[str, Any]], Answer]
"""By a part of the query's text, or what finds the answer to a query and its parameters."""


class BoltServer(ThreadingTCPServer):
    """A server with `answers`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: Answers, user: str, password: str):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.login = (user, password)
        self.queries: list[tuple[str, dict[str, Any]]] = []
        self.begun: list[dict[str, Any]] = []  # what RUN and BEGIN say about database, access and time
        self.pulls: list[int] = []  # how many rows were asked for at a time

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.server_address[1]}"

    def find_answer(self, query: str, parameters: Mapping[str, Any]) -> Answer:
        """Return the answer whose part of a query is the longest; without any it is empty."""
        if not isinstance(self.answers, Mapping):
            return self.answers(query, parameters)
        fitting = [part for part in self.answers if part in query]
        return self.answers[max(fitting, key=len)] if fitting else Answer()

    def handle_error(self, request, client_address):
        pass  # a client that hangs up


class Handler(StreamRequestHandler):
    answer = Answer()
    place = 0
    cut: int | None = None
    has_failed = False

    def handle(self):
        if self.rfile.read(20)[:4] != MAGIC:
            return
        self.wfile.write(VERSION)
        while (message := self.receive()) is not None and message.tag != GOODBYE:
            if not self.respond(message):
                return

    def receive(self) -> Structure | None:
        content = b""
        while len(header := self.rfile.read(2)) == 2:
            size = struct.unpack(">H", header)[0]
            if size == 0 and content:
                return unpack(content)
            content += self.rfile.read(size)
        return None

    def send(self, tag: int, *fields: Any):
        content = pack(Structure(tag, fields))
        for start in range(0, len(content), 0xFFFF):
            part = content[start : start + 0xFFFF]
            self.wfile.write(struct.pack(">H", len(part)) + part)
        self.wfile.write(b"\0\0")

    def respond(self, message: Structure) -> bool:
        """Answer one message, and tell whether the connection goes on."""
        server = cast(BoltServer, self.server)
        if self.has_failed and message.tag not in (RESET, LOGON, HELLO):
            self.send(IGNORED)
        elif message.tag == HELLO:
            self.send(SUCCESS, {"server": "Neo4j/5.20.0", "connection_id": "bolt-1", "hints": {}})
        elif message.tag == LOGON:
            given = message.fields[0]
            if (given.get("principal", ""), given.get("credentials", "")) == server.login:
                self.send(SUCCESS, {})
            else:
                self.fail("Neo.ClientError.Security.Unauthorized", "wrong user or password")
        elif message.tag == RUN:
            query, parameters, about = message.fields
            server.queries.append((query, parameters))
            server.begun.append(about)
            self.run(server.find_answer(query, parameters))
        elif message.tag == BEGIN:
            server.begun.append(message.fields[0])
            self.send(SUCCESS, {})
        elif message.tag == PULL:
            server.pulls.append(message.fields[0]["n"])
            return self.pull(message.fields[0]["n"])
        else:
            self.has_failed = False
            self.send(SUCCESS, {"bookmark": "one"} if message.tag == COMMIT else {})
        return True

    def run(self, answer: Answer):
        if answer.code:
            self.fail(answer.code, answer.message)
            return
        self.answer, self.place, self.cut = answer, 0, answer.cuts.pop(0) if answer.cuts else None
        self.send(SUCCESS, {"fields": list(answer.keys), "t_first": 1})

    def pull(self, count: int) -> bool:
        end = len(self.answer.rows) if count < 0 else self.place + count
        for row in self.answer.rows[self.place : end]:
            if self.cut is not None and self.place >= self.cut:
                return False
            self.send(RECORD, list(row))
            self.place += 1
        has_more = self.place < len(self.answer.rows)
        self.send(SUCCESS, {"has_more": True} if has_more else {"type": "r", "t_last": 1, "db": "neo4j"})
        return True

    def fail(self, code: str, message: str):
        self.has_failed = True
        self.send(FAILURE, {"code": code, "message": message})


@contextmanager
def bolt_server(answers: Answers, user: str = "neo4j", password: str = "secret") -> Iterator[BoltServer]:
    """Serve answers to who logs in; hand-written ones can be added to while the server runs."""
    with BoltServer(answers, user, password) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
