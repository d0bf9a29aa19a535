"""Graphs of Neo4j, and of other databases that speak Bolt: all relationships, or what a query in Cypher returns."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from tripleshot.errors import FetchError, InputError, warn
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.columns import Picks, pick_columns
from tripleshot.graph.readers.memory import read_names
from tripleshot.graph.readers.sources import shorten
from tripleshot.graph.readers.sparql import MAX_TRIPLES, Progress
from tripleshot.graph.types import EntityTypes
from tripleshot.web import InterruptedTransferError, with_retries

if TYPE_CHECKING:
    from neo4j import Driver, Record, Session

Result = TypeVar("Result")

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
SHARED = (
    "MATCH (n) WHERE n[$name] IS NOT NULL WITH toString(n[$name]) AS name, count(*) AS nodes WHERE nodes > 1 "
    "RETURN name, nodes ORDER BY nodes DESC LIMIT 1"
)
NODES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Names:
    """What nodes are called.

    Attributes:
        name: the property that is the name of a node; None, or where a node has none, it is its element id.
        label: the property that people know a node by, if that is another one.
    """

    name: str | None = None
    label: str | None = None

    @property
    def parameters(self) -> dict[str, str]:
        """The values of $name and $label: properties are never part of a query's text."""
        return {key: value for key, value in (("name", self.name), ("label", self.label)) if value is not None}

    @property
    def relationships(self) -> str:
        """The query for all relationships."""
        return f"MATCH (s)-[r]->(o) RETURN {self._of('s')} AS s, type(r) AS p, {self._of('o')} AS o"

    @property
    def nodes(self) -> str:
        """The query for what all nodes have besides their names."""
        label = "null" if self.label is None else "toString(n[$label])"
        return f"MATCH (n) RETURN {self._of('n')} AS name, labels(n) AS types, {label} AS label"

    def _of(self, node: str) -> str:
        return f"elementId({node})" if self.name is None else f"coalesce(toString({node}[$name]), elementId({node}))"


def read_neo4j(
    url: str,
    query: str | None = None,
    *,
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    name: str | None = None,
    label: str | None = None,
    types: bool = True,
    parameters: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    max_triples: int = MAX_TRIPLES,
    batch_size: int = 1000,
    timeout: float = 600.0,
    attempts: int = 3,
    wait: float = 1.0,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Read a graph from Neo4j, or from another database that speaks Bolt.

    Args:
        url: such as `bolt://localhost:7687` or `neo4j+s://example.org`.
        query: in Cypher, which returns a head, a relation and a tail: names, nodes and relationships; None reads all
            relationships.
        user: who asks; None asks without a login.
        password: of the user; no message has it.
        database: its name; None is the user's own.
        name: the property that is the name of a node. Without, or where a node has none, it is its element id.
        label: the property that people know a node by, if that is another one.
        types: whether labels of nodes become types of entities.
        parameters: of the query.
        columns: those of the query that are head, relation and tail, where they are not called so.
        max_triples: at which reading stops, with a warning.
        batch_size: rows that the server sends at a time.
        timeout: seconds for the query, on servers that keep to it, and for a connection at most half a minute.
        attempts: how often to read from the beginning if the connection is lost.
        wait: seconds before the second attempt, doubled before each further one.
        progress: told how many triples have come.

    Raises:
        InputError: the driver is missing, or the login, the query or its answer is wrong.
        FetchError: the database cannot be reached, or hung up every time.
    """
    place, names = _check_address(url), Names(name, label)
    given = dict(parameters or {}) if query is not None else names.parameters

    def read(session: "Session") -> KnowledgeGraph:
        answer = session.run(_timed(query or names.relationships, timeout), given)
        found = _Nodes(names, place)
        triples = found.triples(answer, pick_columns(list(answer.keys()), columns, place))
        graph = read_names(_bounded(triples, max_triples, place, progress), place)
        answer.consume()
        if query is not None:
            return found.with_types_and_labels(graph, types)
        if name is not None:
            _warn_of_shared_names(session, names, place)
        return _with_types_and_labels(graph, _all_nodes(session, names), types) if types or label else graph

    with _connect(url, user, password, place, min(timeout, 30.0)) as driver:

        def attempt() -> KnowledgeGraph:
            with driver.session(database=database, default_access_mode="READ", fetch_size=batch_size) as session:
                return read(session)

        return _translate(place, lambda: with_retries(lambda: _translate_lost(attempt), attempts, wait))


def _check_address(url: str) -> str:
    """Return the address as messages show it."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise InputError("an address with a password ends up in logs; give user and password apart from it")
    if parts.scheme not in SCHEMES:
        raise InputError(f"expected an address such as bolt://localhost:7687, found {shorten(url)!r}")
    return f"{parts.scheme}://{parts.netloc}"


def _connect(url: str, user: str | None, password: str | None, place: str, timeout: float) -> "Driver":
    try:
        import neo4j
    except ModuleNotFoundError:
        raise InputError(f"{place}: Neo4j needs its driver: pip install 'tripleshot[neo4j]'") from None
    logging.getLogger("neo4j").addHandler(logging.NullHandler())  # what it logs of a lost connection is raised, too
    auth = None if user is None else (user, password or "")
    return _translate(place, lambda: neo4j.GraphDatabase.driver(url, auth=auth, connection_timeout=timeout))


def _translate_lost(action: Callable[[], Result]) -> Result:
    """Do something; a lost connection is an interruption, which another attempt may overcome."""
    from neo4j.exceptions import DriverError, Neo4jError

    try:
        return action()
    except (DriverError, Neo4jError) as error:
        if error.is_retryable():
            raise InterruptedTransferError(_one_line(error)) from error
        raise


def _translate(place: str, action: Callable[[], Result]) -> Result:
    """Do something; what the driver raises becomes an error of ours."""
    from neo4j.exceptions import AuthError, ConfigurationError, DriverError, Neo4jError

    try:
        return action()
    except AuthError:
        raise InputError(f"{place}: the user or the password is wrong or missing") from None
    except InterruptedTransferError as error:
        raise FetchError(f"{place}: {error}") from error
    except Neo4jError as error:
        raise InputError(f"{place}: {shorten(error.message, 300) if error.message else _one_line(error)}") from error
    except (ConfigurationError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{place}: {_one_line(error)}") from error
    except DriverError as error:
        raise FetchError(f"{place}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return shorten(" ".join(str(error).split()), 300)


def _timed(query: str, timeout: float) -> Any:  # noqa: ANN401 (a type of the driver, which need not be there)
    import neo4j

    return neo4j.Query(query, timeout=timeout)


def _bounded(
    triples: Iterator[tuple[str, str, str]], max_triples: int, place: str, progress: Progress | None
) -> Iterator[tuple[str, str, str]]:
    num_triples = 0
    for triple in islice(triples, max_triples):
        yield triple
        num_triples += 1
        if progress is not None and num_triples % 1000 == 0:
            progress(num_triples, None)
    if num_triples == max_triples and next(triples, None) is not None:
        warn(f"{place}: stopped at {num_triples:,} triples, as max_triples says; there are more")


class _Nodes:
    """Rows of a query as names, and what its nodes have besides."""

    def __init__(self, names: Names, place: str) -> None:
        self.names = names
        self.place = place
        self.types: dict[str, list[str]] = {}
        self.labels: dict[str, str] = {}

    def triples(self, rows: "Iterator[Record]", picks: Picks) -> Iterator[tuple[str, str, str]]:
        for number, row in enumerate(rows, start=1):
            head, relation, tail = (row[pick] for pick in picks)
            yield self.name(head, number), self.relation(relation, number), self.name(tail, number)

    def name(self, value: Any, number: int) -> str:  # noqa: ANN401 (whatever a query returns)
        if not hasattr(value, "labels"):
            return self.text(value, number)
        own = value.get(self.names.name) if self.names.name else None
        name = value.element_id if own is None else self.text(own, number)
        self.types[name] = sorted(value.labels)
        known_as = value.get(self.names.label) if self.names.label else None
        if isinstance(known_as, str):
            self.labels[name] = known_as
        return name

    def relation(self, value: Any, number: int) -> str:  # noqa: ANN401 (whatever a query returns)
        return value.type if hasattr(value, "start_node") else self.text(value, number)

    def text(self, value: Any, number: int) -> str:  # noqa: ANN401 (whatever a query returns)
        if not isinstance(value, str | int) or isinstance(value, bool):
            found = shorten(repr(value))
            raise InputError(f"{self.place}: row {number}: expected a name, a node or a relationship, found {found}")
        return str(value)

    def with_types_and_labels(self, graph: KnowledgeGraph, types: bool) -> KnowledgeGraph:
        nodes = ((name, self.types[name], self.labels.get(name)) for name in self.types)
        return _with_types_and_labels(graph, nodes, types)


def _all_nodes(session: "Session", names: Names) -> Iterator[tuple[str, list[str], str | None]]:
    for row in session.run(names.nodes, names.parameters):
        yield row["name"], row["types"], row["label"]


def _with_types_and_labels(
    graph: KnowledgeGraph, nodes: Iterator[tuple[str, list[str], str | None]], types: bool
) -> KnowledgeGraph:
    """Give a graph what is known of nodes, some thousand at a time; those without a triple are not in it."""
    owners: list[int] = []
    kinds: list[str] = []
    labels: dict[str, str] = {}
    while some := list(islice(nodes, NODES_AT_ONCE)):
        ids = graph.entities.find([name for name, _, _ in some]).tolist()
        for entity, (name, own, label) in zip(ids, some, strict=True):
            if entity >= 0:
                owners += [entity] * len(own)
                kinds += own
                labels |= {name: label} if label and label.strip() else {}
    if types and kinds:
        graph = graph.with_types(EntityTypes.from_pairs(np.array(owners), kinds, graph.num_entities))
    return graph.with_labels(labels, {}) if labels else graph


def _warn_of_shared_names(session: "Session", names: Names, place: str) -> None:
    for row in session.run(SHARED, names.parameters):
        warn(
            f"{place}: {names.name} is the name of several nodes, which count as one entity: "
            f"{row['nodes']:,} are called {shorten(row['name'])!r}; without it, nodes are kept apart by element id"
        )
