"""KnowledgeGraph: names, types, triples as ids, and every entity's neighbors in both directions.

The background graph G' of the paper (section III). It is immutable: what is derived from it is computed once, when it
is first asked for. A triple costs 12 bytes as ids and 16 more once neighbors are asked for (both directions).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripleshot.arrays import IntArray, frozen, hash_arrays
from tripleshot.errors import InputError
from tripleshot.graph.edge_blocks import Adjacency, adjacency_blocks, rows_by_relation
from tripleshot.graph.graph_html import graph_html
from tripleshot.graph.index_files import Columns, collect, keep
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary, name_columns
from tripleshot.markup import Shown

INVERSE_SUFFIX = "_inv"

Integer = TypeVar("Integer", bound=np.integer)


@dataclass(frozen=True, eq=False)
class KnowledgeGraph(Shown):
    """Triples over named entities and relations.

    Attributes:
        entities: all entities, also those without a triple.
        relations: all relations, without inverses.
        head_ids: shape (num_triples,), int32, in file order; `relation_ids` and `tail_ids` likewise.
        types: entity types, or None when they are unknown.
        keeps_indexes: whether indexes of a large graph are kept on disk: not where a few triples were added, since
            nobody may ask for that graph again.
    """

    entities: Vocabulary
    relations: Vocabulary
    head_ids: npt.NDArray[np.int32]
    relation_ids: npt.NDArray[np.int32]
    tail_ids: npt.NDArray[np.int32]
    types: EntityTypes | None = None
    keeps_indexes: bool = True

    def __post_init__(self) -> None:
        for name in ("head_ids", "relation_ids", "tail_ids"):
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=np.int32)))

    def __repr__(self) -> str:
        sizes = f"{self.num_entities:,} entities, {self.num_relations:,} relations, {self.num_triples:,} triples"
        return f"KnowledgeGraph({sizes})"

    def to_html(self) -> str:
        """Return size, frequent relations and first triples, as a notebook shows them; names are escaped."""
        return graph_html(self)

    @property
    def num_entities(self) -> int:
        """Number of entities."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """Number of relations, inverses not counted."""
        return len(self.relations)

    @property
    def num_triples(self) -> int:
        """Number of triples, inverses not counted."""
        return len(self.head_ids)

    @cached_property
    def triples_hash(self) -> str:
        """A SHA-256 over the triples as ids: all that an index of the edges depends on."""
        sizes = f"{self.num_entities} entities, {self.num_relations} relations"
        return hash_arrays(sizes, self.head_ids, self.relation_ids, self.tail_ids)

    def index(self, name: str, build: "Callable[[KnowledgeGraph], Iterable[Columns]]") -> Columns:
        """Return what is derived from the triples alone; that of a large graph is built once and kept on disk.

        Args:
            name: of the index.
            build: gives its columns block by block.
        """
        if not self.keeps_indexes:
            return collect(build(self))
        return keep(lambda: self.triples_hash, name, self.num_triples, lambda: build(self))

    @cached_property
    def adjacency(self) -> Adjacency:
        """Every entity's edges in both directions."""
        return Adjacency(**self.index("adjacency", adjacency_blocks))

    @property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges of each entity, both directions."""
        return self.adjacency.degrees

    @cached_property
    def _rows_by_relation(self) -> Columns:
        return self.index("rows_by_relation", rows_by_relation)

    def ends_of(self, relation: int) -> npt.NDArray[np.int32]:
        """Return the heads and then the tails of the triples of one relation, each as often as it has an edge."""
        offsets = self._rows_by_relation["offsets"]
        rows = self._rows_by_relation["rows"][offsets[relation] : offsets[relation + 1]]
        return np.concatenate([self.head_ids[rows], self.tail_ids[rows]])

    def pairs_of(self, relation: int) -> npt.NDArray[np.int32]:
        """Return head and tail of each triple of one relation, shape (n, 2), in file order."""
        return self.ends_of(relation).reshape(2, -1).T

    @cached_property
    def num_neighbors(self) -> npt.NDArray[np.int64]:
        """Number of distinct direct neighbors of each entity, both directions."""
        pairs = np.concatenate([self.pair_keys(), self.pair_keys(inverse=True)])
        sources = np.unique(pairs) // self.num_entities
        return frozen(np.bincount(sources, minlength=self.num_entities))

    def pair_keys(self, inverse: bool = False) -> npt.NDArray[np.int64]:
        """Return one number per triple that stands for its (head, tail) pair, or for its (tail, head) pair."""
        first, second = (self.tail_ids, self.head_ids) if inverse else (self.head_ids, self.tail_ids)
        return first.astype(np.int64) * self.num_entities + second

    @overload
    def inverse(self, relation: int) -> int: ...
    @overload
    def inverse(self, relation: npt.NDArray[Integer]) -> npt.NDArray[Integer]: ...
    def inverse(self, relation: int | npt.NDArray[Integer]) -> int | npt.NDArray[Integer]:
        """Return the relation of the same edge seen from its other end: one id, or an array of them.

        Relations are numbered from 0 to `num_relations` - 1, and their inverses follow in the same order.
        """
        size = max(self.num_relations, 1)
        return (relation + size) % (2 * size)

    @overload
    def is_inverse(self, relation: int) -> bool: ...
    @overload
    def is_inverse(self, relation: IntArray) -> npt.NDArray[np.bool_]: ...
    def is_inverse(self, relation: int | IntArray) -> bool | npt.NDArray[np.bool_]:
        """Tell whether an id is that of an inverse relation."""
        return relation >= self.num_relations

    @overload
    def base(self, relation: int) -> int: ...
    @overload
    def base(self, relation: npt.NDArray[Integer]) -> npt.NDArray[Integer]: ...
    def base(self, relation: int | npt.NDArray[Integer]) -> int | npt.NDArray[Integer]:
        """Return the relation that an id stands for, whichever its direction: a place in `relations`."""
        return relation % max(self.num_relations, 1)

    def relation_label(self, relation: int) -> str:
        """Return what to show for a relation or for its inverse."""
        return self.relations.label(self.base(relation)) + INVERSE_SUFFIX * self.is_inverse(relation)

    def relation_counts(self) -> npt.NDArray[np.int64]:
        """Return the number of triples of each relation."""
        return np.diff(self._rows_by_relation["offsets"])

    def without_relations(self, dropped: IntArray) -> "KnowledgeGraph":
        """Return the same entities without these relations and their triples; the others are numbered anew."""
        kept = np.setdiff1d(np.arange(self.num_relations), dropped)
        renumbered = np.full(self.num_relations, -1, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept))
        rows = renumbered[self.relation_ids] >= 0
        labels = self.relations.labels
        relations = Vocabulary(
            self.relations.kind, self.relations.names.take(kept), None if labels is None else labels.take(kept)
        )
        return KnowledgeGraph(
            self.entities,
            relations,
            self.head_ids[rows],
            renumbered[self.relation_ids[rows]],
            self.tail_ids[rows],
            self.types,
            self.keeps_indexes,
        )

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Give the triples by name, in file order."""
        entities, relations = self.entities.names, self.relations.names
        columns = (entities.take(self.head_ids), relations.take(self.relation_ids), entities.take(self.tail_ids))
        return zip(*(column.to_pylist() for column in columns), strict=True)

    def with_triples(self, triples: Iterable[tuple[str, str, str]]) -> "KnowledgeGraph":
        """Return the graph with more triples, given by name; what it has already is left as it is.

        Ids stay what they are: new entities and relations follow the present ones in order of appearance, heads before
        tails, and have no type and no label.
        """
        heads, names, tails = name_columns(triples)
        entities = self.entities.with_names(pa.concat_arrays([heads, tails]))
        relations = self.relations.with_names(names)
        added = np.stack([entities.find(heads), relations.find(names), entities.find(tails)], axis=1)
        _, present, asked = self._compare(added, len(entities))
        new, first = np.unique(asked, return_index=True)
        added = added[np.sort(first[~np.isin(new, present)])]
        return KnowledgeGraph(
            entities,
            relations,
            np.concatenate([self.head_ids, added[:, 0]]),
            np.concatenate([self.relation_ids, added[:, 1]]),
            np.concatenate([self.tail_ids, added[:, 2]]),
            None if self.types is None else self.types.extended(len(entities)),
            keeps_indexes=False,
        )

    def without_triples(self, triples: Iterable[tuple[str, str, str]]) -> "KnowledgeGraph":
        """Return the graph without some triples, given by name; entities and relations stay.

        Raises:
            InputError: a triple that the graph does not have.
        """
        columns = heads, names, tails = name_columns(triples)
        dropped = np.stack([self.entities.find(heads), self.relations.find(names), self.entities.find(tails)], axis=1)
        rows, present, asked = self._compare(dropped, self.num_entities)
        for place in np.flatnonzero(~np.isin(asked, present))[:1].tolist():
            named = ", ".join(repr(column[place].as_py()) for column in columns)
            raise InputError(f"the graph does not have the triple ({named})")
        kept = np.ones(self.num_triples, dtype=bool)
        kept[rows[np.isin(present, asked)]] = False
        ids = (self.head_ids[kept], self.relation_ids[kept], self.tail_ids[kept])
        return KnowledgeGraph(self.entities, self.relations, *ids, self.types, keeps_indexes=False)

    def _compare(
        self, triples: npt.NDArray[np.int32], num_entities: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number triples, shape (n, 3), and those of the graph between the same entities: equal triples alike.

        Returns:
            rows: shape (m,), which of the graph's triples were compared.
            present: shape (m,), their numbers.
            asked: shape (n,), the numbers of the triples that were given.
        """
        keys = triples[:, 0].astype(np.int64) * num_entities + triples[:, 2]
        rows = np.flatnonzero(np.isin(self.head_ids.astype(np.int64) * num_entities + self.tail_ids, keys))
        known = np.stack([column[rows] for column in (self.head_ids, self.relation_ids, self.tail_ids)], axis=1)
        _, numbers = np.unique(np.concatenate([known, triples]), axis=0, return_inverse=True)
        return rows, numbers.ravel()[: len(rows)], numbers.ravel()[len(rows) :]

    def with_relations(
        self, names: Sequence[str], labels: Mapping[str, str], heads: IntArray, relations: IntArray, tails: IntArray
    ) -> "KnowledgeGraph":
        """Return the graph with triples of more relations between its entities; new relations follow the present ones.

        Args:
            names: of the relations.
            labels: of some of them, by name.
            heads: ids of entities, one for each triple.
            relations: places among the names.
            tails: ids of entities.
        """
        vocabulary = self.relations.with_names(pa.array(names, type=pa.large_string()))
        ids = vocabulary.find(names)
        return replace(
            self,
            relations=vocabulary,
            head_ids=np.concatenate([self.head_ids, heads]),
            relation_ids=np.concatenate([self.relation_ids, ids[relations]]),
            tail_ids=np.concatenate([self.tail_ids, tails]),
        ).with_relation_labels(labels)

    def with_relation_labels(self, labels: Mapping[str, str]) -> "KnowledgeGraph":
        """Return the same graph with labels of some relations, by name; the others keep theirs."""
        return replace(self, relations=self.relations.with_more_labels(labels)) if labels else self

    def thinned(self, share: float, rng: np.random.Generator) -> "KnowledgeGraph":
        """Return the same graph with about this share of its triples, drawn at random."""
        return self.with_triples_at(rng.random(self.num_triples) < share)

    def with_triples_at(self, kept: npt.NDArray[np.bool_]) -> "KnowledgeGraph":
        """Return the same graph with some of its triples; entities and relations stay."""
        heads, relations, tails = (ids[kept] for ids in (self.head_ids, self.relation_ids, self.tail_ids))
        return replace(self, head_ids=heads, relation_ids=relations, tail_ids=tails)

    def with_types(self, types: EntityTypes | None) -> "KnowledgeGraph":
        """Return the same graph with these entity types."""
        return replace(self, types=types)

    def with_labels(
        self, entities: Mapping[str, str] | None = None, relations: Mapping[str, str] | None = None
    ) -> "KnowledgeGraph":
        """Return the same graph with human labels by name."""
        return replace(
            self,
            entities=self.entities.with_labels(entities) if entities else self.entities,
            relations=self.relations.with_labels(relations) if relations else self.relations,
        )
