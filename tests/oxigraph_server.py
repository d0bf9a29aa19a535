"""Oxigraph's own server, a SPARQL store in a process of its own: graphs are uploaded, asked and updated over HTTP."""

import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import pytest

MEDIA_TYPES = {".ttl": "text/turtle", ".nt": "application/n-triples"}
MEDIA_TYPES |= {".trig": "application/trig", ".nq": "application/n-quads"}


@dataclass(frozen=True)
class Store:
    """A store that runs at an address, in memory."""

    address: str

    @property
    def url(self) -> str:
        """The endpoint that queries go to."""
        return f"{self.address}/query"

    def upload(self, path: Path) -> None:
        """Add a file to the store, as `curl --data-binary` does; triples go to the default graph, quads to theirs."""
        graph = "?default" if path.suffix in (".ttl", ".nt") else ""
        self._post(f"/store{graph}", path.read_bytes(), MEDIA_TYPES[path.suffix])

    def update(self, text: str) -> None:
        """Change the store."""
        self._post("/update", text.encode(), "application/sparql-update")

    def select(self, query: str) -> list[dict[str, str]]:
        """Return the rows of a query."""
        found = json.loads(self._post("/query", query.encode(), "application/sparql-query"))
        return [{name: term["value"] for name, term in row.items()} for row in found["results"]["bindings"]]

    def _post(self, path: str, content: bytes, kind: str) -> bytes:
        headers = {"Content-Type": kind, "Accept": "application/sparql-results+json"}
        request = urllib.request.Request(self.address + path, content, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:  # on this machine
            return answer.read()


@contextmanager
def oxigraph_server() -> Iterator[Store]:
    """Run an empty store."""
    program = shutil.which("oxigraph", path=Path(sys.executable).parent) or shutil.which("oxigraph")
    if program is None:
        pytest.skip("oxigraph is not installed")
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen([program, "serve", "--bind", place], stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(f"http://{place}", process)
            yield Store(f"http://{place}")
        finally:
            process.kill()


def _wait_for(address: str, process: subprocess.Popen) -> None:
    while process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=30).close()
        except urllib.error.URLError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("oxigraph did not start")
