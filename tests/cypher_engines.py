"""Databases on this machine that execute Cypher, asked over Bolt with the official driver.

- `graphqlite` is a small engine, an extension of SQLite. Our own server speaks Bolt in front of it.
- `arcadedb` is a whole database with its own Bolt server, 70 MB with a Java machine: it is started where the package
  `arcadedb-embedded` is installed.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from threading import Lock
from typing import Any, LiteralString, cast

import pytest

from bolt_server import Answer, bolt_server

HOSTILE = [
    "'",
    "\\'",
    "\\",
    "\\u0027",
    "\\\\u0027",
    "`",
    "\\u0060",
    "a\nb\r\t",
    "'}) DETACH DELETE n //",
    "\\\x00u",
    "\u2028",
]
"""Names that would end a string or a quoted name, if they were not written with care."""
ARCADEDB = """
import sys
import arcadedb_embedded

folder, http_port, bolt_port, password = sys.argv[1:]
config = {"http_port": int(http_port), "bolt_port": int(bolt_port)}
config["server_plugins"] = "Bolt:com.arcadedb.bolt.BoltProtocolPlugin"
server = arcadedb_embedded.create_server(root_path=folder, root_password=password, config=config)
server.start()
server.create_database("graph")
print("ready", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class CypherDatabase:
    """A database that runs.

    Attributes:
        url: its address.
        login: user, password and database, as `read_neo4j` takes them.
    """

    url: str
    login: Mapping[str, str]

    def run(self, *statements: str, **parameters: Any) -> list[list[Any]]:
        """Run statements one after the other, and return the rows of the last one."""
        import neo4j

        rows: list[list[Any]] = []
        auth = (self.login["user"], self.login["password"])
        with (
            neo4j.GraphDatabase.driver(self.url, auth=auth) as driver,
            driver.session(database=self.login["database"]) as session,
        ):
            for statement in statements:
                rows = session.run(cast("LiteralString", statement), parameters).values()
        return rows


@contextmanager
def graphqlite_database(folder: Path) -> Iterator[CypherDatabase]:
    """Run an empty database in memory."""
    graphqlite, connect = pytest.importorskip("graphqlite"), _connect_to_sqlite()
    connection = connect(":memory:", check_same_thread=False)
    engine, lock = graphqlite.wrap(connection), Lock()

    def answer(query: str, parameters: Mapping[str, Any]) -> Answer:
        with lock:
            try:
                found = engine.cypher(query, dict(parameters))
            except Exception as error:  # whatever the engine raises is its answer
                return Answer(code="Neo.ClientError.Statement.SyntaxError", message=str(error))
        return Answer(found.columns, [[row[name] for name in found.columns] for row in found])

    with bolt_server(answer) as server:
        yield CypherDatabase(server.url, {"user": "neo4j", "password": "secret", "database": "neo4j"})
    connection.close()


def _connect_to_sqlite() -> Callable[..., Any]:
    """Return what opens a database; not every Python has an SQLite that takes extensions."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3.connect
    return pytest.importorskip("pysqlite3").connect


@contextmanager
def arcadedb_database(folder: Path) -> Iterator[CypherDatabase]:
    """Run an empty database in a process of its own."""
    pytest.importorskip("arcadedb_embedded")
    with socket() as one, socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1], other.getsockname()[1]]
    password = "a long secret"
    command = [sys.executable, "-c", ARCADEDB, str(folder), *map(str, ports), password]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            assert any(line == "ready\n" for line in process.stdout), "ArcadeDB did not start"
            login = {"user": "root", "password": password, "database": "graph"}
            yield CypherDatabase(f"bolt://127.0.0.1:{ports[1]}", login)
        finally:
            process.kill()


ENGINES: dict[str, Callable[[Path], AbstractContextManager[CypherDatabase]]] = {
    "graphqlite": graphqlite_database,
    "arcadedb": arcadedb_database,
}
