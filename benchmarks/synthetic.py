"""Random graphs of any size that behave like real ones: few entities have most edges, relations join types.

Sizes of relations and of types follow power laws, and so do the degrees of entities. A relation's tails are of one type
if it is small, and of many if it is large, so that tasks have from hundreds of candidates up to some 76,000.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.splitting import make_dataset
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary

WIKI_ONE = (4_838_244, 5_859_240, 822)  # entities, triples, relations
MAX_TYPE = 76_000  # the candidates of Wiki-One's largest task
TYPES_IN_ALL = 8  # the largest type is at most this part of all entities
LEAST_RELATION = 30  # triples
TRIPLES_PER_TYPE = 2000  # a relation with twice as many triples has tails of twice as many types
ATTEMPTS = 50  # redraws of triples that were drawn twice

Integers = npt.NDArray[np.int64]


def synthetic_graph(
    num_entities: int, num_triples: int, num_relations: int, *, seed: int = 0, self_loops: float = 0.0
) -> KnowledgeGraph:
    """Return a random graph with entity types; the same for the same seed.

    No triple comes twice. Every entity has a triple as far as there are enough triples.

    Args:
        num_entities: how many; each has one type.
        num_triples: how many, a few less where a graph is too small for so many different ones.
        num_relations: how many.
        seed: of everything random.
        self_loops: share of the triples whose tail is their head.
    """
    rng = np.random.default_rng(seed)
    type_sizes = _type_sizes(num_entities)
    offsets = np.concatenate([[0], np.cumsum(type_sizes)])
    members = rng.permutation(num_entities)
    relations = np.repeat(np.arange(num_relations), _relation_sizes(num_triples, num_relations))
    domains, ranges = (_types_of_triples(relations, type_sizes, rng) for _ in range(2))
    is_loop = rng.random(num_triples) < self_loops

    def draw(types: Integers) -> Integers:
        popular = type_sizes[types] * rng.random(len(types)) ** 3
        return members[offsets[types] + popular.astype(np.int64)]

    heads, tails, again = draw(domains), draw(ranges), np.empty(0, dtype=np.int64)
    tails[is_loop] = heads[is_loop]
    _use_everyone(heads, tails, num_entities, rng)
    for _ in range(ATTEMPTS):
        tails[is_loop] = heads[is_loop]
        again = _repeated((heads * num_relations + relations) * num_entities + tails)
        if not len(again):
            break
        heads[again], tails[again] = draw(domains[again]), draw(ranges[again])
    kept = np.setdiff1d(rng.permutation(num_triples), again, assume_unique=True)
    types = np.empty(num_entities, dtype=np.int32)
    types[members] = np.repeat(np.arange(len(type_sizes), dtype=np.int32), type_sizes)
    type_names = tuple(f"type {number}" for number in range(len(type_sizes)))
    return KnowledgeGraph(
        Vocabulary("entity", _numbered("Q", rng.permutation(num_entities))),
        Vocabulary("relation", _numbered("P", np.arange(num_relations))),
        heads[kept].astype(np.int32),
        relations[kept].astype(np.int32),
        tails[kept].astype(np.int32),
        EntityTypes(type_names, np.arange(num_entities + 1, dtype=np.int64), types),
    )


def synthetic_dataset(
    num_entities: int,
    num_triples: int,
    num_relations: int,
    *,
    seed: int = 0,
    self_loops: float = 0.0,
    name: str = "synthetic",
) -> FewShotDataset:
    """Return a few-shot dataset of such a graph: relations with 51 to 499 triples are its tasks."""
    graph = synthetic_graph(num_entities, num_triples, num_relations, seed=seed, self_loops=self_loops)
    return make_dataset(graph, name=name, seed=seed)


def _type_sizes(num_entities: int) -> Integers:
    """Return how many entities each type has: the k-th has 1 / sqrt(k) of the first."""
    largest = max(1, min(MAX_TYPE, num_entities // TYPES_IN_ALL))
    ranks = np.arange(1, num_entities + 1)
    sizes = np.maximum(1, (largest / np.sqrt(ranks)).astype(np.int64))
    ends = np.cumsum(sizes)
    last = int(np.searchsorted(ends, num_entities))
    sizes = sizes[: last + 1]
    sizes[-1] -= ends[last] - num_entities
    return sizes


def _relation_sizes(num_triples: int, num_relations: int) -> Integers:
    """Return how many triples each relation has: from 30 to many, a third of them so few that they can be tasks."""
    places = np.linspace(0, 1, num_relations) ** 2
    least = min(LEAST_RELATION, max(1, num_triples // (4 * num_relations)))
    low, high = 0.0, np.log(num_triples)
    for _ in range(60):  # the steepness with which they add up
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(middle * places).sum() * least < num_triples else (low, middle)
    sizes = np.maximum(1, (least * np.exp(low * places)).astype(np.int64))
    sizes[-1] += num_triples - sizes.sum()
    return sizes


def _types_of_triples(relations: Integers, type_sizes: Integers, rng: np.random.Generator) -> Integers:
    """Give each relation some types, large ones more often, and each of its triples one of these."""
    counts = np.bincount(relations)
    num_types = 1 + counts // TRIPLES_PER_TYPE
    first = np.cumsum(num_types) - num_types
    types = rng.choice(len(type_sizes), int(num_types.sum()), p=type_sizes / type_sizes.sum())
    return types[first[relations] + (num_types[relations] * rng.random(len(relations))).astype(np.int64)]


def _use_everyone(heads: Integers, tails: Integers, num_entities: int, rng: np.random.Generator) -> None:
    """Put the entities that have no triple, in place, where heads stand that have several."""
    unused = np.flatnonzero(np.bincount(np.concatenate([heads, tails]), minlength=num_entities) == 0)
    spare = np.ones(len(heads), dtype=bool)
    spare[np.unique(heads, return_index=True)[1]] = False
    rows = rng.permutation(np.flatnonzero(spare))[: len(unused)]
    heads[rows] = unused[: len(rows)]


def _repeated(keys: Integers) -> Integers:
    """Return where a key stands that has stood before."""
    is_first = np.zeros(len(keys), dtype=bool)
    is_first[np.unique(keys, return_index=True)[1]] = True
    return np.flatnonzero(~is_first)


def _numbered(letter: str, numbers: Integers) -> pa.LargeStringArray:
    names = pc.binary_join_element_wise(letter, pa.array(numbers).cast(pa.string()), "")
    return names.cast(pa.large_string())
