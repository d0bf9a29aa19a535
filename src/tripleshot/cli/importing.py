"""`tripleshot data import`: a graph from a server, a database or files, as one file that every command reads."""

import os
import shlex
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeFloat, PositiveFloat, PositiveInt

from tripleshot.cli.display import console, hint, progress_bar
from tripleshot.errors import FetchError, InputError
from tripleshot.files.locks import folder_lock
from tripleshot.graph.exporting import check_target, write_graph
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.graph.readers.neo4j import read_neo4j
from tripleshot.graph.readers.page_files import discard_pages
from tripleshot.graph.readers.places import kind_of_place, wikidata_properties
from tripleshot.graph.readers.sparql import read_sparql
from tripleshot.graph.readers.sparql_client import RequestLimits
from tripleshot.graph.readers.sql import is_database, read_sql
from tripleshot.graph.readers.wikidata import POLITE, read_wikidata

PASSWORD = "TRIPLESHOT_PASSWORD"
KINDS = {
    "sparql": "a SPARQL endpoint",
    "wikidata": "Wikidata",
    "neo4j": "a graph database",
    "sql": "tables",
    "path": "files of triples",
}
PAGED = ("sparql", "wikidata")
LIMITS = ("timeout", "attempts", "delay")
TAKEN: dict[str, tuple[str, ...]] = {
    "sparql": (
        *("query", "graph", "user", "header", "literals", "blank_nodes", "page_size", "unsorted", "max_triples"),
        *("contact", *LIMITS),
    ),
    "wikidata": ("labels", "where", "page_size", "unsorted", "max_triples", "contact", *LIMITS),
    "neo4j": (
        *("query", "user", "database", "name_property", "label_property", "columns", "max_triples", "timeout"),
        "attempts",
    ),
    "sql": ("query", "columns", "max_triples"),
    "path": ("columns", "literals"),
}
"""Which flags each kind of source has a use for."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What to read of a source, and how; None leaves it to the source.

    Attributes:
        query: In the language of the source, or a file with it: SPARQL (SELECT ?s ?p ?o, or CONSTRUCT), Cypher or SQL,
            where the rows of a Parquet or CSV file are the table `data`. Without one, all triples are read.
        graph: The named graph of a SPARQL endpoint.
        user: Who asks. The password is taken from TRIPLESHOT_PASSWORD, or asked for.
        header: A header for a SPARQL endpoint, NAME=VARIABLE: its value is in that environment variable.
        database: The database of the server.
        name_property: The property that is the name of a node; its element id by default.
        label_property: The property that people know a node by.
        labels: A language, such as en, in which items of Wikidata get labels.
        where: A pattern of SPARQL for ?s, such as `?s wdt:P31 wd:Q515`, that limits what is read of Wikidata.
        columns: Names of the head, relation and tail columns.
        literals: What to do with RDF literals such as dates and numbers; skip by default.
        blank_nodes: How far names of blank nodes reach: a page, or all answers of the server; page by default.
        page_size: Rows to ask for at a time; 5000 by default.
        unsorted: Do not have the server sort the rows: for one that does not finish. Pages may then overlap or miss
            something, if the server's own order changes.
        max_triples: Stop there.
        contact: Your e-mail or web address, for the server's owner; Wikidata asks for it.
        timeout: Seconds for one answer; 60 by default, and 600 for a query in Cypher.
        attempts: How often to try what is refused for the moment or interrupted.
        delay: Seconds between two requests; 1 for Wikidata, 0 for others.
    """

    query: str | None = None
    graph: str | None = None
    user: str | None = None
    header: Annotated[Sequence[str] | None, Parameter(negative=())] = None
    database: str | None = None
    name_property: str | None = None
    label_property: str | None = None
    labels: str | None = None
    where: str | None = None
    columns: Annotated[Sequence[str] | None, Parameter(consume_multiple=True, negative=())] = None
    literals: Literal["skip", "keep"] | None = None
    blank_nodes: Literal["page", "server"] | None = None
    page_size: PositiveInt | None = None
    unsorted: Annotated[bool | None, Parameter(negative=())] = None
    max_triples: PositiveInt | None = None
    contact: str | None = None
    timeout: PositiveFloat | None = None
    attempts: PositiveInt | None = None
    delay: NonNegativeFloat | None = None

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of these options that were given."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def import_command(
    source: str,
    out: Path,
    options: ImportOptions | None = None,
    *,
    resume: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Bring a graph from where it lives into one Parquet file, with its labels and types.

    `tripleshot data import https://example.org/sparql graph.parquet`

    `tripleshot data import wikidata:P19,P27,P31 people.parquet --labels en --contact me@example.org`

    `tripleshot data import bolt://localhost:7687 graph.parquet --user neo4j --name-property name`

    `tripleshot data import shop.duckdb graph.parquet --query "SELECT buyer, 'bought', item FROM orders"`

    Parameters
    ----------
    source
        The address of a SPARQL endpoint (https://...) or of a graph database (bolt://..., neo4j://...),
        `wikidata:` and properties, a file of DuckDB or SQLite, or a file or folder of triples.
    out
        The file to write, which ends with .parquet; `ask`, `serve` and `data make` read it.
    resume
        Go on with an import that was interrupted: pages that have come are in OUT.pages, and are not asked for again.
    overwrite
        Replace OUT, and what an interrupted import has left.
    """
    options = options or ImportOptions()
    kind = _kind(source, options)
    _refuse_useless(kind, options, resume)
    pages = out.with_name(f"{out.name}.pages")
    check_target(out, overwrite or (resume and pages.exists()))
    if kind == "path":
        graph = read_graph(source, **options.given("columns", "literals"))
        write_graph(graph, out, overwrite)
    elif kind not in PAGED:
        graph = _read(_reader(source, kind, options, None))
        write_graph(graph, out, overwrite)
    else:
        with folder_lock(pages):
            if overwrite and not resume:
                discard_pages(pages)
            if pages.exists() and not resume:
                raise InputError(
                    f"{pages}: has pages of an import that was interrupted; --resume goes on with it, "
                    "--overwrite starts anew"
                )
            try:
                graph = _read(_reader(source, kind, options, pages))
            except FetchError as error:
                if not pages.exists():
                    raise
                raise FetchError(f"{error}; what has come is in {pages}: --resume goes on with it") from None
            write_graph(graph, out, overwrite=True)
            discard_pages(pages)
    console.print(f"{graph!r} written to {out}", markup=False, soft_wrap=True)
    relation, head = graph.relations.name(0), graph.entities.name(int(graph.head_ids[0]))
    hint(shlex.join(["try:", "tripleshot", "ask", str(out), "--relation", relation, "--head", head]))


def _kind(source: str, options: ImportOptions) -> str:
    kind = kind_of_place(source)
    if kind != "path":
        return kind
    return "sql" if options.query is not None or is_database(Path(source)) else "path"


def _refuse_useless(kind: str, options: ImportOptions, resume: bool) -> None:
    for name in options.given(*vars(options)):
        if name not in TAKEN[kind]:
            raise InputError(f"--{name.replace('_', '-')} has no meaning for {KINDS[kind]}")
    if resume and kind not in PAGED:
        raise InputError(f"--resume: {KINDS[kind]} are read in one go, there are no pages to go on with")
    if kind == "sql" and options.query is None:
        raise InputError("--query: which triples are in a database? Give a query that returns head, relation and tail")


def _read(read: Callable[..., KnowledgeGraph]) -> KnowledgeGraph:
    with progress_bar("triples") as show:
        return read(progress=show)


def _reader(source: str, kind: str, options: ImportOptions, pages: Path | None) -> Callable[..., KnowledgeGraph]:
    """Return what reads the source when it is called, and takes a function to show progress with."""
    given = options.given("max_triples")
    if options.query is not None:
        given["query"] = _query_text(options.query)
    if kind == "sql":
        return partial(read_sql, source, **given, **options.given("columns"))
    if kind == "neo4j":
        given |= options.given("user", "database", "columns", "timeout", "attempts")
        given |= {"name": options.name_property, "label": options.label_property}
        return partial(read_neo4j, source, password=_password(options.user), **given)
    own = POLITE if kind == "wikidata" else RequestLimits()
    given |= options.given("page_size", "contact")
    given |= {"is_sorted": not options.unsorted, "pages": pages, "limits": replace(own, **options.given(*LIMITS))}
    if kind == "wikidata":
        return partial(read_wikidata, wikidata_properties(source), **given, **options.given("labels", "where"))
    given |= options.given("graph", "literals", "blank_nodes")
    return partial(read_sparql, source, headers=_headers(options), **given)


def _query_text(query: str) -> str:
    """Return a query, from a file if it names one."""
    try:
        if "\n" not in query and Path(query).is_file():
            return Path(query).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"--query: {query}: cannot be read: {error}") from None
    return query


def _headers(options: ImportOptions) -> dict[str, str]:
    headers = {}
    for given in options.header or ():
        name, separator, variable = given.partition("=")
        if not (separator and name and variable in os.environ):  # what was typed may be a secret, and is not repeated
            raise InputError("--header: expected NAME=VARIABLE, where VARIABLE is an environment variable that is set")
        headers[name] = os.environ[variable]
    if options.user is not None:
        login = f"{options.user}:{_password(options.user)}"
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    return headers


def _password(user: str | None) -> str | None:
    """Return the password of a user, which is never an argument: arguments can be seen by others."""
    if user is None:
        return None
    if PASSWORD in os.environ:
        return os.environ[PASSWORD]
    if not sys.stdin.isatty():
        raise InputError(f"--user: the password of {user} is taken from {PASSWORD}, which is not set")
    return getpass(f"password of {user}: ")
