"""What comes from other programs than this one: proposals of curators, databases, and the answers of servers."""

import io
import json
import sqlite3
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.targets import Target, file_target
from tripleshot.answering.proposal_files import read_proposals
from tripleshot.graph.readers import sparql_client
from tripleshot.graph.readers.page_files import PageFiles
from tripleshot.graph.readers.sparql_client import SCHEMA, Endpoint, RequestLimits
from tripleshot.graph.readers.sql import read_sql

COLUMNS = {"head": ["a", "b"], "relation": ["r", "r"], "tail": ["c", "d"], "confidence": [0.9, 0.25], "rank": [1, 2]}
TABLE = "head\trelation\ttail\tconfidence\tdecision\na\tr\tc\t0.9\taccepted\nb\tr\td\t0.25\t\n"
TERMS = {"s": {"type": "uri", "value": "e:a"}, "p": {"type": "uri", "value": "e:r"}}
OBJECTS = [{"type": "uri", "value": "e:b"}, {"type": "literal", "value": "B", "xml:lang": "en"}]
ROW = {"subject": "<e:a>", "predicate": "<e:r>", "object": "<e:b>", "language": None}


def sources(folder: Path) -> list[Target]:
    """Return a target for every kind."""
    return [*_proposals(folder), _database(folder), *_answers_of_servers(), _kept_page(folder)]


def _proposals(folder: Path) -> list[Target]:
    content = io.BytesIO()
    pq.write_table(pa.table(COLUMNS), content)
    files = {"tsv": TABLE, "csv": TABLE.replace("\t", ","), "parquet": content.getvalue()}

    def read(path: Path) -> None:
        for _ in read_proposals(path).batches(min_confidence=0.5):
            pass

    return [
        file_target(folder / f"proposals.{kind}", valid.encode() if isinstance(valid, str) else valid, read)
        for kind, valid in files.items()
    ]


def _database(folder: Path) -> Target:
    path = folder / "graph.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE triples (head TEXT, relation TEXT, tail TEXT)")
    connection.executemany("INSERT INTO triples VALUES (?, 'r', ?)", [("a", "b"), ("b", "c")])
    connection.commit()
    connection.close()

    def read(path: Path) -> None:
        read_sql(path, "SELECT head, relation, tail FROM triples")

    return file_target(path, path.read_bytes(), read)


def _answers_of_servers() -> list[Target]:
    """Return answers of a SPARQL endpoint, as they would come over a connection."""
    endpoint = Endpoint("http://127.0.0.1:1/sparql", limits=RequestLimits(attempts=1))
    rows = {"head": {"vars": ["s", "p", "o"]}, "results": {"bindings": [TERMS | {"o": one} for one in OBJECTS]}}

    class Answer(io.BytesIO):
        status, reason = 200, "OK"

        def __init__(self, content: bytes, kind: str) -> None:
            super().__init__(content)
            self.headers = {"Content-Type": kind}

    def select(content: bytes) -> None:
        with patch.object(sparql_client, "send_request", lambda *_, **__: Answer(content, sparql_client.RESULTS)):
            endpoint.select("SELECT ?s ?p ?o WHERE { ?s ?p ?o }")

    def construct(content: bytes) -> None:
        with patch.object(sparql_client, "send_request", lambda *_, **__: Answer(content, "text/turtle")):
            endpoint.construct("CONSTRUCT WHERE { ?s ?p ?o }")

    turtle = b'<e:a> <e:r> <e:b> ; <e:s> "text"@en .\n'
    return [
        Target("SPARQL SELECT", json.dumps(rows).encode(), select),
        Target("SPARQL CONSTRUCT", turtle, construct),
    ]


def _kept_page(folder: Path) -> Target:
    """Return a page of an import, on disk; one that cannot be read is asked for again."""
    pages, source, table = folder / "pages", {"url": "http://e/"}, pa.Table.from_pylist([ROW], SCHEMA)
    PageFiles(pages, source).page(0, 0, lambda: table)
    path = pages / "000000-000000.parquet"

    def read(path: Path) -> None:
        PageFiles(pages, source).page(0, 0, lambda: table)

    return file_target(path, path.read_bytes(), read, "page of an import")
