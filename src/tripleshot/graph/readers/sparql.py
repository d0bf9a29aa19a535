"""SPARQL endpoints: a whole graph, or what a query says of it, page by page.

Pages follow one another by key: the rows are sorted by their subject, and the next page begins at the last subject of
the one before. So a page costs the same at the end of a graph as at its beginning, where an offset into all rows would
grow with each page and is refused by some servers; and a triple that is added meanwhile does not shift the others. Only
the rows that a page has of its last subject are skipped by an offset. Blank nodes come first, for they have no text to
compare; among them, too, an offset counts.

A whole graph is asked for relation by relation, since servers find the triples of one by an index. How many each has is
asked first: it tells when all have come, although some servers stop at a number of rows without a word.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph

from tripleshot.errors import FetchError, InputError, warn
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.page_files import PageFiles
from tripleshot.graph.readers.rdf import Statement, read_statements
from tripleshot.graph.readers.sources import shorten
from tripleshot.graph.readers.sparql_client import COLUMNS, Endpoint, RequestLimits

MAX_TRIPLES = 100_000_000
PAGE_SIZE = 5_000
BLANK = "_:"
PROLOGUE = re.compile(r"(?:\s+|#[^\n]*(?:\n|$)|PREFIX\s+[^\s<]*\s*<[^<>]*>|BASE\s*<[^<>]*>)*", re.IGNORECASE)
FORM = re.compile(r"(SELECT|CONSTRUCT)\b", re.IGNORECASE)
NO_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
RELATIONS = (
    "SELECT ?s ?p ?o WHERE { { SELECT (?x AS ?s) (COUNT(*) AS ?o) WHERE { ?a ?x ?b } GROUP BY ?x } BIND(?s AS ?p) }"
)

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Paging:
    """How the rows of a query are divided.

    Attributes:
        size: rows to ask for at a time.
        is_sorted: whether the server sorts them; without, the order is that of its own index, which no standard
            promises to stay the same, and the offset counts all rows.
        max_triples: at which reading stops, with a warning.
        files: where pages are kept.
    """

    size: int
    is_sorted: bool
    max_triples: int
    files: PageFiles


def read_sparql(
    url: str,
    query: str | None = None,
    *,
    graph: str | None = None,
    headers: Mapping[str, str] | None = None,
    literals: Literal["skip", "keep"] = "skip",
    blank_nodes: Literal["page", "server"] = "page",
    page_size: int = PAGE_SIZE,
    is_sorted: bool = True,
    max_triples: int = MAX_TRIPLES,
    pages: Path | None = None,
    contact: str | None = None,
    limits: RequestLimits | None = None,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Read a graph from a SPARQL endpoint; `rdfs:label` and `skos:prefLabel` become labels.

    Args:
        url: the endpoint's address.
        query: a SELECT of ?s, ?p and ?o, which is read in pages, or a CONSTRUCT, which is read in one answer; None
            reads all triples.
        graph: the named graph to ask about; None is the default graph.
        headers: sent with every request, such as Authorization. No message and no file has their values.
        literals: whether values such as dates are left out or become entities.
        blank_nodes: how far their names reach. With "page" one that is in two pages is two entities, which holds for
            every server; "server" is for those that name it the same in every answer.
        page_size: rows to ask for at a time.
        is_sorted: whether the server sorts rows to page through them. Without, pages may overlap or leave gaps on
            servers whose order changes; it is for those that do not finish sorting.
        max_triples: at which reading stops, with a warning.
        pages: a folder where pages are kept while they arrive; called again with it, only the others are asked for.
        contact: your e-mail or web address, for the server's owner.
        limits: of each request.
        progress: told how many triples have come, and of how many if that is known.

    Raises:
        InputError: the query is of another kind, or the answer holds something that is not a triple.
        FetchError: the endpoint cannot be reached, or refuses.
    """
    endpoint = Endpoint(url, headers or {}, graph, contact, limits or RequestLimits())
    source = {"url": endpoint.place, "graph": graph, "query": query, "is_sorted": is_sorted}
    paging = make_paging(page_size, is_sorted, max_triples, PageFiles(pages, source))
    if query is not None and read_form(query) == "CONSTRUCT":
        tables = iter([paging.files.page(0, 0, lambda: endpoint.construct(query))])
        blank_nodes = "server"
    elif query is not None:
        tables = read_parts(endpoint, {query: None}, paging, progress)
    else:
        counted = read_parts(endpoint, {RELATIONS: None}, replace(paging, max_triples=MAX_TRIPLES), None)
        relations = {row.subject: int(row.object) for table in counted for row in statements_of(table)}
        tables = read_parts(endpoint, {_of_relation(name): relations[name] for name in relations}, paging, progress, 1)
    return read_statements(collect_statements(tables, endpoint.place, blank_nodes), endpoint.place, literals == "keep")


def make_paging(page_size: int, is_sorted: bool, max_triples: int, files: PageFiles) -> Paging:
    """Return how to divide rows, with numbers that make sense."""
    for name, value in (("page_size", page_size), ("max_triples", max_triples)):
        if value < 1:
            raise InputError(f"{name}: expected 1 or more, found {value}")
    return Paging(page_size, is_sorted, max_triples, files)


def read_form(query: str) -> str:
    """Return whether a query is a SELECT or a CONSTRUCT; others, and updates, are an InputError."""
    body = query[_end_of_prologue(query) :]
    found = FORM.match(body)
    if found is None:
        raise InputError(f"query: expected SELECT ?s ?p ?o or CONSTRUCT, found {shorten(body.strip())!r}")
    return found[1].upper()


def read_parts(
    endpoint: Endpoint, parts: Mapping[str, int | None], paging: Paging, progress: Progress | None, first: int = 0
) -> Iterator[pa.Table]:
    """Yield the pages of several queries, one after the other.

    Args:
        endpoint: to ask.
        parts: SELECT queries of ?s, ?p and ?o, each with the number of its rows if that is known.
        paging: how their rows are divided.
        progress: told how many rows have come.
        first: number of the first part among all of a source.
    """
    counts = list(parts.values())
    total = None if None in counts else sum(count or 0 for count in counts)
    num_rows = 0
    for part, (query, count) in enumerate(parts.items(), first):
        num_before = num_rows
        for table in _read_pages(endpoint, query, count, paging, part):
            table = table.slice(0, paging.max_triples - num_rows)
            num_rows += len(table)
            yield table
            if progress is not None:
                progress(num_rows, total)
            if num_rows >= paging.max_triples and num_rows != total:
                warn(f"{endpoint.place}: stopped at {num_rows:,} triples, as max_triples says; there may be more")
                return
        if count is not None and num_rows - num_before < count:
            warn(f"{endpoint.place}: {num_rows - num_before:,} of {count:,} triples came for {shorten(query, 200)}")


def _read_pages(endpoint: Endpoint, query: str, count: int | None, paging: Paging, part: int) -> Iterator[pa.Table]:
    """Yield the pages of one query: until one is empty, or as many rows have come as there are."""
    key, offset, num_rows, number = "", 0, 0, 0
    before = None
    while count is None or num_rows < count:
        table = fetch_page(endpoint, page_query(query, key, offset, paging), paging, part, number)
        if len(table) == 0:
            return
        if before is not None and table.equals(before):
            raise FetchError(f"{endpoint.place}: answers the same page again and again; it cannot be read in pages")
        yield table
        before, number, num_rows = table, number + 1, num_rows + len(table)
        last = table["subject"][-1].as_py()
        if not paging.is_sorted or last.startswith(BLANK):
            offset += len(table)
            continue
        num_last = pc.sum(pc.equal(table["subject"], last)).as_py()
        offset = num_last + (offset if last == key else 0)
        key = last


def fetch_page(endpoint: Endpoint, query: str, paging: Paging, part: int, number: int = 0) -> pa.Table:
    """Return a page that is kept, or ask for it; between requests the server is left alone for a while."""

    def fetch() -> pa.Table:
        if paging.files.num_fetched:
            time.sleep(endpoint.limits.delay)
        return endpoint.select(query)

    return paging.files.page(part, number, fetch)


def page_query(query: str, key: str, offset: int, paging: Paging) -> str:
    """Return the query of one page: what comes after a subject, but for some rows of it that have come already."""
    end = _end_of_prologue(query)
    key_filter = f" FILTER(STR(?s) >= {pyoxigraph.Literal(key)})" if key else ""
    order = " ORDER BY STR(?s) ?s ?p ?o" if paging.is_sorted else ""
    return (
        f"{query[:end]}SELECT ?s ?p ?o WHERE {{ {{ {query[end:]}\n}}{key_filter} }}{order} "
        f"LIMIT {paging.size} OFFSET {offset}"
    )


def collect_statements(
    tables: Iterable[pa.Table], place: str, blank_nodes: Literal["page", "server"] = "page"
) -> Iterator[Statement]:
    """Yield the statements of all pages, and say how many have blank nodes whose names hold for a page alone."""
    num_blank = 0
    for number, table in enumerate(tables):
        for row in statements_of(table):
            names = [row.subject] if row.language is not None else [row.subject, row.object]
            if blank_nodes == "page" and any(name.startswith(BLANK) for name in names):
                num_blank += 1
                own = [
                    name.replace(BLANK, f"{BLANK}{number}-", 1) if name.startswith(BLANK) else name for name in names
                ]
                row = row._replace(**dict(zip(("subject", "object"), own, strict=False)))
            yield row
    if num_blank:
        warn(
            f"{place}: {num_blank:,} triples have blank nodes; one that is in two pages counts as two entities, "
            'unless blank_nodes="server"'
        )


def statements_of(table: pa.Table) -> Iterator[Statement]:
    """Yield the rows of a page."""
    return map(Statement, *(table[name].to_pylist() for name in COLUMNS))


def _of_relation(name: str) -> str:
    if NO_IRI.search(name):  # what should be no IRI, but is in some store
        return f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o FILTER(STR(?p) = {pyoxigraph.Literal(name)}) }}"
    return f"SELECT ?s (<{name}> AS ?p) ?o WHERE {{ ?s <{name}> ?o }}"


def _end_of_prologue(query: str) -> int:
    found = PROLOGUE.match(query)
    return 0 if found is None else found.end()
