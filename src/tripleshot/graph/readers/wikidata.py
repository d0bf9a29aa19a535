"""Wikidata by a list of properties: each is a relation between items, read from its query service."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from tripleshot.errors import InputError, warn
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.memory import read_names
from tripleshot.graph.readers.page_files import PageFiles
from tripleshot.graph.readers.sources import shorten
from tripleshot.graph.readers.sparql import (
    MAX_TRIPLES,
    PAGE_SIZE,
    Paging,
    Progress,
    fetch_page,
    make_paging,
    read_parts,
    statements_of,
)
from tripleshot.graph.readers.sparql_client import Endpoint, RequestLimits

ENDPOINT = "https://query.wikidata.org/sparql"
ENTITY = "http://www.wikidata.org/entity/"
DIRECT = "http://www.wikidata.org/prop/direct/"
POLITE = RequestLimits(delay=1.0, wait=5.0)
LABELS_AT_ONCE = 400
PROPERTY = re.compile(r"P[1-9][0-9]*")
ITEM = re.compile(r"[QPL][1-9][0-9]*")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*", re.IGNORECASE)


def read_wikidata(
    properties: Sequence[str],
    *,
    labels: str | None = None,
    where: str | None = None,
    url: str = ENDPOINT,
    page_size: int = PAGE_SIZE,
    is_sorted: bool = True,
    max_triples: int = MAX_TRIPLES,
    pages: Path | None = None,
    contact: str | None = None,
    limits: RequestLimits = POLITE,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Read what Wikidata says with some properties: the best statement of each item, as triples such as Q42 P19 Q350.

    Values that are no items, such as dates and unknown ones, are left out and counted.

    Args:
        properties: such as P19 and P27. P31 also gives entities their types where a graph is asked about.
        labels: a language such as "en" in which items and properties get their labels; None asks for none.
        where: a pattern of SPARQL for ?s, such as `?s wdt:P31 wd:Q515`; only statements about what fits it are read.
        url: of an endpoint with the same data.
        page_size: as in `read_sparql`.
        is_sorted: as in `read_sparql`. The query service does not finish sorting properties with millions of
            statements; a `where`, or False, helps.
        max_triples: as in `read_sparql`.
        pages: as in `read_sparql`.
        contact: your e-mail or web address. Wikidata asks for one, and may turn away who gives none.
        limits: of each request; a second between two of them, by default.
        progress: told how many statements and labels have come.

    Raises:
        InputError: a property is none.
        FetchError: the service cannot be reached, or refuses.
    """
    wanted = list(dict.fromkeys(properties))
    for name in wanted or [""]:
        if not PROPERTY.fullmatch(name):
            raise InputError(f"wikidata: expected properties such as P19, found {shorten(name)!r}")
    if labels is not None and not LANGUAGE.fullmatch(labels):
        raise InputError(f"labels: expected a language such as 'en', found {shorten(labels)!r}")
    endpoint = Endpoint(url, contact=contact, limits=limits)
    source = {"url": endpoint.place, "properties": wanted, "where": where, "labels": labels, "is_sorted": is_sorted}
    paging = make_paging(page_size, is_sorted, max_triples, PageFiles(pages, source))
    parts = dict.fromkeys(_statements_query(name, where) for name in wanted)
    graph = read_names(_items(read_parts(endpoint, parts, paging, progress), endpoint.place), endpoint.place)
    if labels is None:
        return graph
    names = [*graph.relations.names.to_pylist(), *graph.entities.names.to_pylist()]
    texts = _read_labels(endpoint, names, labels, paging, len(parts), progress)
    return graph.with_labels(texts, texts)


def _statements_query(name: str, where: str | None) -> str:
    prefixes = f"PREFIX wd: <{ENTITY}>\nPREFIX wdt: <{DIRECT}>\n"
    restriction = "" if where is None else f" {{ SELECT DISTINCT ?s WHERE {{ {where}\n}} }}"
    return f"{prefixes}SELECT ?s (wdt:{name} AS ?p) ?o WHERE {{ ?s wdt:{name} ?o{' .' * bool(where)}{restriction} }}"


def _items(tables: Iterable[pa.Table], place: str) -> Iterator[tuple[str, str, str]]:
    """Yield statements between items by their ids, and say how many others there were."""
    num_skipped = 0
    for table in tables:
        for subject, predicate, value, language in statements_of(table):
            head, tail = subject.removeprefix(ENTITY), value.removeprefix(ENTITY)
            if language is None and ITEM.fullmatch(head) and ITEM.fullmatch(tail):
                yield head, predicate.removeprefix(DIRECT), tail
            else:
                num_skipped += 1
    if num_skipped:
        warn(f"{place}: {num_skipped:,} statements skipped whose value is no item")


def _read_labels(
    endpoint: Endpoint, names: Sequence[str], language: str, paging: Paging, first: int, progress: Progress | None
) -> dict[str, str]:
    """Return the labels of items and properties, some hundred with each request."""
    labels: dict[str, str] = {}
    for part, start in enumerate(range(0, len(names), LABELS_AT_ONCE), first):
        listed = " ".join(f"<{ENTITY}{name}>" for name in names[start : start + LABELS_AT_ONCE])
        query = (
            "SELECT ?s (<http://www.w3.org/2000/01/rdf-schema#label> AS ?p) ?o WHERE { "
            f"VALUES ?s {{ {listed} }} ?s <http://www.w3.org/2000/01/rdf-schema#label> ?o "
            f'FILTER(LANG(?o) = "{language.lower()}") }}'
        )
        rows = statements_of(fetch_page(endpoint, query, paging, part))
        labels |= {row.subject.removeprefix(ENTITY): row.object for row in rows if row.object.strip()}
        if progress is not None:
            progress(min(start + LABELS_AT_ONCE, len(names)), len(names))
    return labels
