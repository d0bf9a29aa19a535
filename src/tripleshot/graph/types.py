"""Entity types, and where they come from: the names themselves, a type relation, or a mapping file.

Types decide which tails a query is ranked among. Where none of these is given, the observed range stands in.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot import arrays
from tripleshot.arrays import IntArray, frozen, hash_arrays
from tripleshot.errors import InputError
from tripleshot.graph.index_files import Columns, keep
from tripleshot.graph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tripleshot.graph.knowledge_graph import KnowledgeGraph

PREFIX_PATTERN = r"^(?:concept:)?(?P<type>[^:/]+)[:/].+$"
TYPE_RELATIONS = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    "http://www.wikidata.org/prop/direct/P31",
    "rdf:type",
    "P31",
    "instance_of",
    "instance of",
)
"""Relations that say what something is, by names that mean nothing else."""

SCHEMES = ("http", "https", "urn", "file")  # how addresses begin, which says nothing about what they name
MIN_MEMBERS = 5  # entities of a type, on average, below which what names begin with is hardly a type


@dataclass(frozen=True, eq=False)
class EntityTypes:
    """Which types each entity has: none, one or several.

    Attributes:
        names: type names in id order.
        offsets: shape (num_entities + 1,), where each entity's types start and end in `values`.
        values: type ids, entity by entity.
    """

    names: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.int32]

    @classmethod
    def from_pairs(cls, entities: IntArray, types: Sequence[str] | pa.Array, num_entities: int) -> "EntityTypes":
        """Make types from (entity id, type name) pairs; a pair given twice counts once."""
        encoded = pa.array(types, type=pa.large_string()).dictionary_encode()
        num_types = len(encoded.dictionary)
        keys = np.unique(np.asarray(entities, dtype=np.int64) * num_types + encoded.indices.to_numpy())
        offsets, _ = arrays.group(keys // max(num_types, 1), num_entities)
        values = (keys % max(num_types, 1)).astype(np.int32)
        return cls(tuple(encoded.dictionary.to_pylist()), frozen(offsets), frozen(values))

    @classmethod
    def none(cls, num_entities: int) -> "EntityTypes":
        """Say nothing of any entity."""
        return cls((), frozen(np.zeros(num_entities + 1, np.int64)), frozen(np.empty(0, np.int32)))

    def of(self, entities: IntArray) -> npt.NDArray[np.int32]:
        """Return the distinct types of these entities together."""
        positions, _ = arrays.expand(self.offsets, entities)
        return np.unique(self.values[positions])

    def members(self, types: IntArray) -> npt.NDArray[np.int32]:
        """Return, sorted, the entities that have at least one of these types; memory is one byte per entity."""
        offsets, entities = self._members
        is_member = np.zeros(len(self.offsets) - 1, dtype=bool)
        for kind in np.unique(types).tolist():
            is_member[entities[offsets[kind] : offsets[kind + 1]]] = True
        return np.flatnonzero(is_member).astype(np.int32)

    def count_members(self, types: IntArray) -> int:
        """Return how many entities have one of these types, at most: one that has several of them is counted again."""
        offsets, _ = self._members
        kinds = np.unique(types)
        return min(int((offsets[kinds + 1] - offsets[kinds]).sum()), len(self.offsets) - 1)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each type by its name."""
        return {name: kind for kind, name in enumerate(self.names)}

    def extended(self, num_entities: int) -> "EntityTypes":
        """Return the same types for more entities; those past the present ones have none."""
        return replace(self, offsets=frozen(np.pad(self.offsets, (0, num_entities + 1 - len(self.offsets)), "edge")))

    @cached_property
    def content_hash(self) -> str:
        """A SHA-256 over the types of all entities."""
        return hash_arrays("\0".join(self.names), self.offsets, self.values)

    @cached_property
    def _members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        columns = keep(lambda: self.content_hash, "members", len(self.values), self._member_blocks)
        return columns["offsets"], columns["entities"]

    def _member_blocks(self) -> Iterator[Columns]:
        owners = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        offsets, order = arrays.group(self.values, len(self.names))
        yield {"offsets": offsets, "entities": owners[order]}


def find_types(graph: "KnowledgeGraph") -> EntityTypes | None:
    """Return the types that a graph has without being told where: those of a type relation, or those in all names.

    Names count only if every one of them begins with a type, and types have several members: else the part before a
    colon or a slash may be anything.
    """
    for name in TYPE_RELATIONS:
        if name in graph.relations:
            return types_from_relation(graph, name)
    found = pc.struct_field(pc.extract_regex(graph.entities.names, PREFIX_PATTERN), "type")
    if found.null_count or not len(found):
        return None
    names = pc.unique(found).to_pylist()
    is_sound = 2 <= len(names) <= graph.num_entities / MIN_MEMBERS and not any(name in SCHEMES for name in names)
    return EntityTypes.from_pairs(np.arange(graph.num_entities), found, graph.num_entities) if is_sound else None


def types_from_names(graph: "KnowledgeGraph") -> EntityTypes:
    """Read the type off the name: `city` in `concept:city:paris` (NELL), `city:paris` or `city/paris`."""
    found = pc.struct_field(pc.extract_regex(graph.entities.names, PREFIX_PATTERN), "type")
    typed = pc.is_valid(found).to_numpy(zero_copy_only=False)
    if not typed.any():
        raise InputError("no entity name has a type prefix such as city:paris, city/paris or concept:city:paris")
    return EntityTypes.from_pairs(np.flatnonzero(typed), found.drop_null(), graph.num_entities)


def with_types_from_names(graph: "KnowledgeGraph", first: int) -> "KnowledgeGraph":
    """Give entities from an id on the type that their names begin with, if the graph has a type of that name."""
    if graph.types is None:
        return graph
    found = pc.struct_field(pc.extract_regex(graph.entities.names[first:], PREFIX_PATTERN), "type")
    known = pc.index_in(found, value_set=pa.array(graph.types.names, type=pa.large_string()))
    is_typed = pc.is_valid(known).to_numpy(zero_copy_only=False)
    offsets = graph.types.offsets.copy()
    offsets[first + 1 :] += np.cumsum(is_typed)
    values = np.concatenate([graph.types.values, known.drop_null().to_numpy()])
    return graph.with_types(EntityTypes(graph.types.names, offsets, values))


def types_from_relation(graph: "KnowledgeGraph", relation: str) -> EntityTypes:
    """Take the tails of a type relation as types; `rdf:type` or `P31` also find an IRI that ends in it."""
    rows = graph.relation_ids == resolve_relation(graph, relation)
    names = pc.take(graph.entities.names, pa.array(graph.tail_ids[rows]))
    return EntityTypes.from_pairs(graph.head_ids[rows], names, graph.num_entities)


def resolve_relation(graph: "KnowledgeGraph", relation: str) -> int:
    """Return the id of a relation given by its name, its label, or the last part of its IRI."""
    found = find_relation(graph.relations, relation)
    return graph.relations.id(relation) if found is None else found


def find_relation(relations: Vocabulary, text: str) -> int | None:
    """Return the id of the one relation that has this name, this label, or an IRI that ends in it; None if none has."""
    found = relations.exact(text)
    if len(found) == 1:
        return int(found[0])
    ending = text.rpartition(":")[2]
    fits = pc.match_substring_regex(relations.names, f"[/#]{re.escape(ending)}$").to_numpy(zero_copy_only=False)
    return int(np.flatnonzero(fits)[0]) if fits.sum() == 1 else None


def types_from_mapping(graph: "KnowledgeGraph", mapping: Mapping[str, str | Iterable[str]]) -> EntityTypes:
    """Take types from a mapping of entity names to a type or to several; names not in the graph are left out."""
    pairs = [(name, kind) for name, kinds in mapping.items() for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    entities = graph.entities.find([name for name, _ in pairs])
    if not (entities >= 0).any():
        raise InputError("none of the names in the type mapping is an entity of the graph")
    kept = [kind for (_, kind), entity in zip(pairs, entities, strict=True) if entity >= 0]
    return EntityTypes.from_pairs(entities[entities >= 0], kept, graph.num_entities)


def read_type_mapping(path: Path) -> dict[str, list[str]]:
    """Read a mapping from a JSON object (name: type or list of types) or from lines of name, tab, type."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a type mapping: {error}") from None
    return _mapping_from_json(path, text) if path.suffix == ".json" else _mapping_from_lines(path, text)


def _mapping_from_json(path: Path, text: str) -> dict[str, list[str]]:
    try:
        mapping = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg}") from None
    if not isinstance(mapping, dict):
        raise InputError(f"{path}: expected a JSON object of entity names to types")
    result = {name: [kinds] if isinstance(kinds, str) else kinds for name, kinds in mapping.items()}
    for name, kinds in result.items():
        if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
            raise InputError(f"{path}: the types of {name!r} are neither a string nor a list of strings")
    return result


def _mapping_from_lines(path: Path, text: str) -> dict[str, list[str]]:
    mapping: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(f"{path}:{number}: expected an entity name, a tab and a type, found {line[:80]!r}")
        mapping.setdefault(cells[0], []).append(cells[1])
    return mapping
