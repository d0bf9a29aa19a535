"""Large datasets opened at once: what was read from files before is mapped from the cache, column by column.

Reading and verifying a graph of millions takes seconds, and every start would pay for it. An entry belongs to the very
files it was made from: their paths, sizes and times of change. If one of them has changed since, it is read again.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.arrays import hash_arrays
from tripleshot.datasets.dataset import SPLITS, FewShotDataset, Task, with_task_edges
from tripleshot.errors import InputWarning, warn
from tripleshot.graph.index_files import (
    FORMAT,
    MIN_ROWS,
    Columns,
    StoredColumns,
    indexes_dir,
    is_large,
    open_or_build,
    read_columns,
)
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary, hash_vocabulary, text_of

NAME = "dataset"
PAIRS = ("pairs", "known")


def open_dataset(source: Path, role: str, read: Callable[[], FewShotDataset]) -> FewShotDataset:
    """Return what is read from a file or a folder, from the cache if it is large and was read before.

    Args:
        source: a file, or a folder whose files are read.
        role: what else decides the result, such as the name it is given.
        read: reads it; its `InputWarning`s come again when it is opened from the cache.
    """
    if not is_large(MIN_ROWS):
        return read()
    key = _fingerprint(source, role)
    stored = read_columns(indexes_dir() / key / NAME)
    if stored is None:
        dataset, messages = _read_with_warnings(read)
        unchanged = is_large(dataset.graph.num_triples) and _fingerprint(source, role) == key
        if unchanged:
            stored = open_or_build(key, NAME, lambda: (_columns(dataset), _describe(dataset, messages)))
        if stored is None:
            return dataset
    else:
        for message in stored.about["warnings"]:
            warn(message)
    return _assemble(stored)


def open_with_train_edges(dataset: FewShotDataset) -> KnowledgeGraph:
    """Return the background graph with the triples of the train tasks, kept in the cache if the dataset is."""
    graph, names_hash = dataset.graph, dataset.graph.relations.content_hash
    if names_hash is None or "content_hash" not in vars(dataset) or not is_large(graph.num_triples):
        return with_task_edges(graph, dataset.train)

    def build() -> tuple[list[Columns], dict[str, Any]]:
        whole = with_task_edges(graph, dataset.train)
        hashes = {"triples": whole.triples_hash, "relations": hash_vocabulary(whole.relations)}
        return [_id_columns(whole), _vocabulary_columns("relations", whole.relations)], hashes

    labels = "\0".join(task.label for task in dataset.train)
    stored = open_or_build(hash_arrays(dataset.content_hash, names_hash, labels), "train_edges", build)
    if stored is None:
        return with_task_edges(graph, dataset.train)
    relations = _vocabulary("relation", "relations", stored.columns, stored.about["relations"])
    return _graph(graph.entities, relations, graph.types, stored.columns, stored.about["triples"])


def _fingerprint(source: Path, role: str) -> str:
    """Return what changes with any of the files; a time of change cannot be set back as a time of writing can."""
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    states = [(str(file.resolve()), file.stat()) for file in files if file.is_file()]
    parts = [[path, state.st_size, state.st_mtime_ns, state.st_ctime_ns] for path, state in states]
    return hashlib.sha256(json.dumps([FORMAT, role, source.name, parts]).encode()).hexdigest()


def _read_with_warnings(read: Callable[[], FewShotDataset]) -> tuple[FewShotDataset, list[str]]:
    """Read, give the warnings as usual, and return those about the input."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dataset = read()
    finally:
        for one in caught:
            if issubclass(one.category, InputWarning):
                warn(str(one.message))
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return dataset, [str(one.message) for one in caught if issubclass(one.category, InputWarning)]


def _describe(dataset: FewShotDataset, messages: list[str]) -> dict[str, Any]:
    """Return what is no column."""
    graph = dataset.graph
    return {
        "name": dataset.name,
        "notes": list(dataset.notes),
        "warnings": messages,
        "types": None if graph.types is None else list(graph.types.names),
        "tasks": [
            {
                "split": split,
                "name": task.name,
                "label": task.label,
                "question": task.question,
                "has_candidates": task.given_candidates is not None,
            }
            for split, task in dataset.all_tasks()
        ],
        "hashes": {
            "dataset": dataset.content_hash,
            "triples": graph.triples_hash,
            "types": None if graph.types is None else graph.types.content_hash,
            "entities": hash_vocabulary(graph.entities),
            "relations": hash_vocabulary(graph.relations),
        },
    }


def _columns(dataset: FewShotDataset) -> Iterator[Columns]:
    graph = dataset.graph
    yield _vocabulary_columns("entities", graph.entities)
    yield _vocabulary_columns("relations", graph.relations)
    yield _id_columns(graph)
    if graph.types is not None:
        yield {"type_offsets": graph.types.offsets, "type_values": graph.types.values}
    tasks = [task for _, task in dataset.all_tasks()]
    nothing = np.empty(0, dtype=np.int32)
    for name in PAIRS:
        yield _rows(name, [getattr(task, name).ravel() for task in tasks])
    yield _rows("candidates", [nothing if task.given_candidates is None else task.given_candidates for task in tasks])


def _id_columns(graph: KnowledgeGraph) -> Columns:
    return {"head_ids": graph.head_ids, "relation_ids": graph.relation_ids, "tail_ids": graph.tail_ids}


def _vocabulary_columns(name: str, vocabulary: Vocabulary) -> Columns:
    labels = {} if vocabulary.labels is None else _text_columns(f"{name}_labels", vocabulary.labels)
    return _text_columns(f"{name}_names", vocabulary.names) | labels


def _rows(name: str, rows: list[npt.NDArray[np.int32]]) -> Columns:
    """Lay rows of different lengths end to end."""
    return {
        name: np.concatenate([np.empty(0, dtype=np.int32), *rows]),
        f"{name}_offsets": np.cumsum([0, *map(len, rows)], dtype=np.int64),
    }


def _text_columns(name: str, texts: pa.LargeStringArray) -> Columns:
    filled = pc.fill_null(texts, "") if texts.null_count else texts  # a null has no bytes of its own
    lengths = pc.binary_length(filled).to_numpy()
    columns = {
        f"{name}_offsets": np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)]),
        f"{name}_text": np.frombuffer(text_of(filled), dtype=np.uint8),
    }
    if texts.null_count:
        is_valid = pc.is_valid(texts).to_numpy(zero_copy_only=False)
        columns[f"{name}_is_valid"] = np.packbits(is_valid, bitorder="little")
    return columns


def _assemble(stored: StoredColumns) -> FewShotDataset:
    """Make a dataset of mapped columns; what is known of it need not be computed again."""
    columns, about = stored.columns, stored.about
    hashes = about["hashes"]
    entities = _vocabulary("entity", "entities", columns, hashes["entities"])
    relations = _vocabulary("relation", "relations", columns, hashes["relations"])
    types = None
    if about["types"] is not None:
        types = EntityTypes(tuple(about["types"]), columns["type_offsets"], columns["type_values"])
        vars(types)["content_hash"] = hashes["types"]
    graph = _graph(entities, relations, types, columns, hashes["triples"])
    pairs, known, candidates = (_split(columns, name) for name in (*PAIRS, "candidates"))
    tasks = [
        (
            row["split"],
            Task(
                row["name"],
                pairs[place].reshape(-1, 2),
                known[place].reshape(-1, 2),
                candidates[place] if row["has_candidates"] else None,
                row["label"],
                row["question"],
            ),
        )
        for place, row in enumerate(about["tasks"])
    ]
    by_split = (tuple(task for where, task in tasks if where == split) for split in SPLITS)
    dataset = FewShotDataset(about["name"], graph, *by_split, notes=tuple(about["notes"]))
    vars(dataset)["content_hash"] = hashes["dataset"]
    return dataset


def _graph(
    entities: Vocabulary, relations: Vocabulary, types: EntityTypes | None, columns: Columns, triples_hash: str
) -> KnowledgeGraph:
    head_ids, relation_ids, tail_ids = (columns[name] for name in ("head_ids", "relation_ids", "tail_ids"))
    graph = KnowledgeGraph(entities, relations, head_ids, relation_ids, tail_ids, types)
    vars(graph)["triples_hash"] = triples_hash
    return graph


def _vocabulary(kind: str, name: str, columns: Columns, content_hash: str) -> Vocabulary:
    labels = _texts(columns, f"{name}_labels") if f"{name}_labels_text" in columns else None
    return Vocabulary(kind, _texts(columns, f"{name}_names"), labels, content_hash)


def _split(columns: Columns, name: str) -> list[npt.NDArray[np.int32]]:
    return [columns[name][start:end] for start, end in pairwise(columns[f"{name}_offsets"].tolist())]


def _texts(columns: Columns, name: str) -> pa.LargeStringArray:
    parts = [columns.get(f"{name}_{part}") for part in ("is_valid", "offsets", "text")]
    buffers = [None if part is None else pa.py_buffer(part) for part in parts]
    return pa.Array.from_buffers(pa.large_string(), len(columns[f"{name}_offsets"]) - 1, buffers)
