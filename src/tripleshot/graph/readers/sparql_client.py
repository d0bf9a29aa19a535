"""One question to a SPARQL endpoint: sent over HTTP, answered with statements, within limits of time and size."""

import json
import time
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode, urlsplit

import pyarrow as pa
import pyoxigraph

from tripleshot.errors import FetchError, InputError, warn
from tripleshot.graph.readers.rdf import Statement, statement_of
from tripleshot.graph.readers.sources import reason, shorten
from tripleshot.web import (
    InterruptedTransferError,
    Response,
    expected_bytes,
    read_chunk,
    refuse_passing_failure,
    refuse_short,
    send_request,
    status_of,
    with_retries,
)

COLUMNS = ("subject", "predicate", "object", "language")
SCHEMA = pa.schema([(name, pa.large_string()) for name in COLUMNS])
RESULTS = "application/sparql-results+json"
TRIPLES = "application/n-triples, text/turtle;q=0.5"
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
ERROR_BYTES = 10_000  # read of an answer that explains a refusal


@dataclass(frozen=True)
class RequestLimits:
    """How an endpoint is asked.

    Attributes:
        timeout: seconds for one answer, and without a sign of the server.
        max_bytes: of one answer.
        attempts: how often a request is made that is refused for the moment (429, 5xx), cut off or garbled.
        wait: seconds before the second attempt, doubled before each further one; longer where the server asks for it.
        delay: seconds between requests, to leave the server to others.
    """

    timeout: float = 60.0
    max_bytes: int = 64 << 20
    attempts: int = 5
    wait: float = 1.0
    delay: float = 0.0


@dataclass(frozen=True)
class Endpoint:
    """A SPARQL endpoint, and how to ask it.

    Attributes:
        url: its address, http or https.
        headers: sent with every request, such as Authorization; their values appear in no message.
        graph: the named graph to ask about; None is the default graph.
        contact: an address of whoever asks, for the server's owner.
        limits: of each request.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    graph: str | None = None
    contact: str | None = None
    limits: RequestLimits = RequestLimits()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            has_host = bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise InputError("the address of an endpoint has a broken host or port") from None
        if parts.username is not None or parts.password is not None:
            raise InputError("an address with a password ends up in logs; give user and password apart from it")
        if parts.scheme not in ("http", "https") or not has_host:
            raise InputError(f"expected the http address of a SPARQL endpoint, found {shorten(self.url)!r}")
        for name, value in {**self.headers, "contact": self.contact or ""}.items():
            if not name.isascii() or not (name + value).isprintable() or not value.isascii():
                raise InputError(f"header {name!r}: expected one line of ASCII")  # and not a word of its value
        if self.headers and parts.scheme == "http" and parts.hostname not in THIS_MACHINE:
            warn(f"{self.place}: headers go over http, where others can read them; https encrypts them")

    @property
    def place(self) -> str:
        """The address as messages show it: without what follows the path, which may be a key."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def select(self, query: str) -> pa.Table:
        """Return the rows of a SELECT of ?s, ?p and ?o; columns are those of `SCHEMA`.

        Raises:
            InputError: the answer has something that is not a triple.
            FetchError: the endpoint refused, or every attempt failed.
        """
        return self._ask(query, RESULTS, _read_rows)

    def construct(self, query: str) -> pa.Table:
        """Return the triples of a CONSTRUCT, as `select` does."""
        return self._ask(query, TRIPLES, _read_triples)

    def _ask(self, query: str, accept: str, read: Any) -> pa.Table:  # noqa: ANN401 (one of the two functions below)
        def attempt() -> pa.Table:
            with send_request(self._request(query, accept), self.limits.timeout, follows_redirects=False) as response:
                refuse_passing_failure(response)
                if response.status != 200:
                    raise FetchError(self._refusal(response))
                kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                return read(self._receive(response), kind, self.place)

        try:
            return with_retries(attempt, self.limits.attempts, self.limits.wait)
        except InterruptedTransferError as error:
            raise FetchError(f"{self.place}: {self._without_secrets(str(error))}") from None

    def _request(self, query: str, accept: str) -> urllib.request.Request:
        fields = {"query": query} | ({} if self.graph is None else {"default-graph-uri": self.graph})
        contact = f" ({self.contact})" if self.contact else ""
        headers = {
            "User-Agent": f"tripleshot/{version('tripleshot')}{contact}",
            "Accept": accept,
            "Accept-Encoding": "identity",  # a packed answer could unpack to any size
            **self.headers,
        }
        return urllib.request.Request(self.url, urlencode(fields).encode(), headers)

    def _receive(self, response: Response) -> bytes:
        """Read an answer whole, within the limits."""
        total, content = expected_bytes(response), bytearray()
        end = time.monotonic() + self.limits.timeout
        while chunk := read_chunk(response):
            content += chunk
            if len(content) > self.limits.max_bytes:
                raise FetchError(
                    f"{self.place}: an answer has more than {self.limits.max_bytes:,} bytes; ask for smaller pages"
                )
            if time.monotonic() > end:
                raise InterruptedTransferError(f"no whole answer in {self.limits.timeout:g} seconds")
        refuse_short(len(content), total)
        return bytes(content)

    def _refusal(self, response: Response) -> str:
        """Say what the server said, in one line; for a wrong query it is what is wrong."""
        try:
            said = read_chunk(response)[:ERROR_BYTES].decode(errors="replace")
        except InterruptedTransferError:
            said = ""
        advice = {401: "; the user, the password or the header is wrong or missing", 403: "; it lets others in"}
        moved = (
            f" to {shorten(response.headers.get('Location', ''), 200)}" if response.status in range(300, 400) else ""
        )
        lines = [] if "<html" in said.lower() else said.split("\n")
        reasons = next((f": {shorten(line.strip(), 300)}" for line in lines if line.strip()), "")
        text = f"{self.place} answered {status_of(response)}{moved}{advice.get(response.status, '')}{reasons}"
        return self._without_secrets(text)

    def _without_secrets(self, text: str) -> str:
        for value in self.headers.values():
            for secret in {value, *value.split()}:
                text = text.replace(secret, "***") if len(secret) > 3 else text
        return text


def as_table(statements: Iterable[Statement]) -> pa.Table:
    """Return statements as columns."""
    columns = list(zip(*statements, strict=True)) or [()] * len(COLUMNS)
    return pa.table([pa.array(column, pa.large_string()) for column in columns], schema=SCHEMA)


def _read_rows(content: bytes, kind: str, place: str) -> pa.Table:
    if kind not in (RESULTS, "application/json"):
        raise FetchError(f"{place}: expected results of SPARQL, found {kind or 'no type'}; is it a SPARQL endpoint?")
    try:
        rows = json.loads(content)["results"]["bindings"]
        return as_table([_statement(row, place) for row in rows])
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        # Servers that run out of time in the middle of an answer say so in the middle of it.
        raise InterruptedTransferError(f"the answer is no result of SPARQL: {reason(error)}") from error


def _statement(row: Mapping[str, Mapping[str, str]], place: str) -> Statement:
    if not {"s", "p", "o"} <= row.keys():
        raise InputError(f"{place}: expected ?s, ?p and ?o in every row, found {shorten(json.dumps(row), 200)}")
    subject, predicate, term = row["s"], row["p"], row["o"]
    if subject["type"] not in ("uri", "bnode") or predicate["type"] != "uri" or term["type"] == "triple":
        raise InputError(f"{place}: expected a triple between names, found {shorten(json.dumps(row), 200)}")
    is_literal = term["type"] not in ("uri", "bnode")
    language = term.get("xml:lang", "") if is_literal else None
    return Statement(_name(subject), predicate["value"], term["value"] if is_literal else _name(term), language)


def _name(term: Mapping[str, str]) -> str:
    return f"_:{term['value']}" if term["type"] == "bnode" else term["value"]


def _read_triples(content: bytes, kind: str, place: str) -> pa.Table:
    file_format = pyoxigraph.RdfFormat.from_media_type(kind)
    if file_format is None:
        raise FetchError(f"{place}: expected RDF, found {kind or 'no type'}; is it a SPARQL endpoint?")
    try:
        parsed = pyoxigraph.parse(content, format=file_format, lenient=True)
        return as_table([statement_of(quad, place) for quad in parsed])
    except SyntaxError as error:
        raise InterruptedTransferError(f"the answer is no RDF: {reason(error)}") from error
