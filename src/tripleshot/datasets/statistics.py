"""What a dataset is like: sizes as in the paper's dataset table, neighbors as in its first figure."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tripleshot.datasets.dataset import LONG_TAIL_NEIGHBORS, SPLITS, FewShotDataset, Split
from tripleshot.graph.knowledge_graph import KnowledgeGraph


@dataclass(frozen=True)
class LongTail:
    """How many queries have a head or a tail with few neighbors.

    Attributes:
        queries: those of the subset.
        of: all queries.
    """

    queries: int
    of: int


@dataclass(frozen=True)
class Statistics:
    """Sizes and shape of a few-shot dataset.

    Attributes:
        entities: |E| of the paper's table.
        background_relations: relations of the background graph; with the tasks they are |R|.
        triples: background triples.
        tasks: number of few-shot relations by split.
        task_triples: number of their triples by split.
        types: number of entity types, 0 when unknown.
        degree: edges of an entity in both directions: quantiles, mean and largest.
        one_neighbor: share of entities with exactly one distinct neighbor.
        few_neighbors: share of entities with fewer than ten, the long-tailed ones.
        no_neighbor: share of entities without any background edge.
        long_tail: the long-tail subset of the queries by split.
    """

    entities: int
    background_relations: int
    triples: int
    tasks: dict[Split, int]
    task_triples: dict[Split, int]
    types: int
    degree: dict[str, float]
    one_neighbor: float
    few_neighbors: float
    no_neighbor: float
    long_tail: dict[Split, LongTail]


def describe_dataset(dataset: FewShotDataset, shots: int = 5) -> Statistics:
    """Count what there is; queries are those that `shots` examples leave."""
    graph = dataset.graph
    neighbors = graph.num_neighbors
    return Statistics(
        entities=graph.num_entities,
        background_relations=graph.num_relations,
        triples=graph.num_triples,
        tasks={split: len(dataset.tasks(split)) for split in SPLITS},
        task_triples={split: sum(len(task.pairs) for task in dataset.tasks(split)) for split in SPLITS},
        types=0 if graph.types is None else len(graph.types.names),
        degree=_describe_degrees(graph.degrees),
        one_neighbor=float(np.mean(neighbors == 1)),
        few_neighbors=float(np.mean(neighbors < LONG_TAIL_NEIGHBORS)),
        no_neighbor=float(np.mean(neighbors == 0)),
        long_tail={split: _long_tail(dataset, split, shots) for split in SPLITS},
    )


def _describe_degrees(degrees: npt.NDArray[np.int64]) -> dict[str, float]:
    quantiles = {f"{share:.0%}": float(np.quantile(degrees, share)) for share in (0.25, 0.5, 0.75, 0.9, 0.99)}
    return {**quantiles, "mean": float(degrees.mean()), "largest": float(degrees.max())}


def _long_tail(dataset: FewShotDataset, split: Split, shots: int) -> LongTail:
    flags = [dataset.long_tail(task.queries(shots)) for task in dataset.tasks(split) if len(task.pairs) > shots]
    return LongTail(int(sum(flag.sum() for flag in flags)), sum(len(flag) for flag in flags))


def neighbor_histogram(graph: KnowledgeGraph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each number of direct neighbors that occurs, and how many entities have it."""
    return np.unique(graph.num_neighbors[graph.num_neighbors > 0], return_counts=True)
