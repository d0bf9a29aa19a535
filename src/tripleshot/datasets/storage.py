"""A few-shot dataset on disk: one folder of Parquet tables and a JSON manifest with a hash of its content.

`dataset.json` names the format, the content hash, the hash of each file and the tasks; `entities`, `relations`,
`triples`, `types`, `tasks`, `known` and `candidates` are Parquet tables. Nothing is pickled. A folder appears whole or
not at all.
"""

import hashlib
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tripleshot import arrays
from tripleshot.datasets.dataset import SPLITS, FewShotDataset, Split, Task
from tripleshot.errors import InputError
from tripleshot.files.atomic import new_folder
from tripleshot.files.checksums import changed, hash_file, read_document, seal_document
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.types import EntityTypes
from tripleshot.graph.vocabulary import Vocabulary, text_of

MANIFEST = "dataset.json"
FORMAT = 1
ROWS_AT_ONCE = 1_000_000


def hash_content(dataset: FewShotDataset) -> str:
    """Return a SHA-256 over everything that can change a result: names, types, triples, tasks, candidates.

    It does not depend on the file format the data came from, nor on human labels.
    """
    digest = hashlib.sha256()

    def add(part: str, array: npt.NDArray) -> None:
        digest.update(f"{part}:{len(array)}:".encode())
        for start in range(0, len(array), ROWS_AT_ONCE):  # a copy of every column would not fit beside a large graph
            digest.update(np.ascontiguousarray(array[start : start + ROWS_AT_ONCE], dtype="<i8").data)

    for part, vocabulary in (("entities", dataset.graph.entities), ("relations", dataset.graph.relations)):
        add(part, pc.binary_length(vocabulary.names).to_numpy())
        digest.update(text_of(vocabulary.names))
    for part in ("head_ids", "relation_ids", "tail_ids"):
        add(part, getattr(dataset.graph, part))
    if dataset.graph.types is not None:
        digest.update("\0".join(dataset.graph.types.names).encode())
        add("type_offsets", dataset.graph.types.offsets)
        add("type_values", dataset.graph.types.values)
    for split, task in dataset.all_tasks():
        add(f"{split}:{task.name}", task.pairs)
        add("known", task.known)
        add("candidates", np.empty(0) if task.given_candidates is None else task.given_candidates)
    return digest.hexdigest()


def write_dataset(dataset: FewShotDataset, folder: Path, overwrite: bool = False) -> None:
    """Write a dataset to a new folder; an existing one is replaced only when asked, and only by a complete one."""
    with new_folder(folder, overwrite) as temporary:
        _write_tables(dataset, temporary)
        manifest = {
            "format": FORMAT,
            "name": dataset.name,
            "data_hash": dataset.content_hash,
            "entities": dataset.graph.num_entities,
            "relations": dataset.graph.num_relations,
            "triples": dataset.graph.num_triples,
            "types": None if dataset.graph.types is None else list(dataset.graph.types.names),
            "tasks": [
                {"name": task.name, "split": split, "label": task.label, "question": task.question}
                for split, task in dataset.all_tasks()
            ],
            "notes": list(dataset.notes),
            "files": {table.name: hash_file(table) for table in sorted(temporary.iterdir())},
        }
        text = json.dumps(seal_document(manifest), indent=1, ensure_ascii=False) + "\n"
        (temporary / MANIFEST).write_text(text, encoding="utf-8")


def _write_tables(dataset: FewShotDataset, folder: Path) -> None:
    def write(table: str, /, **columns: pa.Array | npt.NDArray) -> None:
        pq.write_table(pa.table(columns), folder / f"{table}.parquet", compression="zstd")

    graph = dataset.graph
    for name, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
        labels = vocabulary.labels if vocabulary.labels is not None else pa.nulls(len(vocabulary), pa.large_string())
        write(name, name=vocabulary.names, label=labels)
    write("triples", head=graph.head_ids, relation=graph.relation_ids, tail=graph.tail_ids)
    if graph.types is not None:
        owners = np.repeat(np.arange(graph.num_entities, dtype=np.int32), np.diff(graph.types.offsets))
        write("types", entity=owners, type=graph.types.values)
    tasks = [task for _, task in dataset.all_tasks()]
    for name, column in (("tasks", "pairs"), ("known", "known")):
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int32), *(getattr(task, column) for task in tasks)])
        owners = np.repeat(np.arange(len(tasks), dtype=np.int32), [len(getattr(task, column)) for task in tasks])
        write(name, task=owners, head=pairs[:, 0], tail=pairs[:, 1])
    given = [task.given_candidates for task in tasks]
    write("candidates", tails=pa.array(given, type=pa.list_(pa.int32())))


def is_saved_dataset(folder: Path) -> bool:
    """Tell whether a folder holds a dataset written by `FewShotDataset.save`."""
    return (folder / MANIFEST).is_file()


def load_saved_dataset(folder: Path) -> FewShotDataset:
    """Read a folder written by `FewShotDataset.save` and check that its content still has the hash that was written."""
    try:
        manifest = read_document(folder / MANIFEST)
        if manifest["format"] != FORMAT:
            raise InputError(f"{folder / MANIFEST}: format {manifest['format']}, this version reads format {FORMAT}")
        for name, expected in manifest.get("files", {}).items():
            if hash_file(folder / name) != expected:
                raise changed(folder / name)
        dataset = _read_tables(folder, manifest)
        found = dataset.content_hash
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, pa.ArrowException) as error:
        raise InputError(f"{folder}: not a readable dataset: {error}") from None
    if found != manifest["data_hash"]:
        raise InputError(f"{folder}: changed since it was written: its content hash is {found[:12]}…")
    return dataset


def _read_tables(folder: Path, manifest: dict[str, Any]) -> FewShotDataset:
    def read(name: str) -> pa.Table:
        return pq.read_table(folder / f"{name}.parquet").combine_chunks()

    def integers(table: pa.Table, column: str) -> npt.NDArray[np.int32]:
        return table.column(column).to_numpy()

    def vocabulary(kind: str, name: str) -> Vocabulary:
        names, labels = (_one_array(column) for column in read(name).columns)
        return Vocabulary(kind, names, None if labels.null_count == len(labels) else labels)

    entities, relations, triples = (
        vocabulary("entity", "entities"),
        vocabulary("relation", "relations"),
        read("triples"),
    )
    types = None
    if manifest["types"] is not None:
        table = read("types")
        offsets, _ = arrays.group(integers(table, "entity"), len(entities))
        types = EntityTypes(tuple(manifest["types"]), offsets, integers(table, "type"))
    head_ids, relation_ids, tail_ids = (integers(triples, column) for column in ("head", "relation", "tail"))
    graph = KnowledgeGraph(entities, relations, head_ids, relation_ids, tail_ids, types)
    tasks = _read_tasks(manifest, read, integers)
    return FewShotDataset(manifest["name"], graph, *(tasks[split] for split in SPLITS), notes=tuple(manifest["notes"]))


def _read_tasks(
    manifest: dict[str, Any],
    read: Callable[[str], pa.Table],
    integers: Callable[[pa.Table, str], npt.NDArray[np.int32]],
) -> dict[Split, tuple[Task, ...]]:
    def pairs_by_task(name: str) -> list[npt.NDArray[np.int32]]:
        table = read(name)
        offsets, _ = arrays.group(integers(table, "task"), len(manifest["tasks"]))
        pairs = np.stack([integers(table, "head"), integers(table, "tail")], axis=1)
        return [pairs[start:end] for start, end in pairwise(offsets)]

    given = [None if tails is None else np.array(tails, np.int32) for tails in read("candidates")["tails"].to_pylist()]
    tasks = [
        (
            row["split"],
            Task(row["name"], arrays.frozen(pairs), arrays.frozen(known), tails, row["label"], row["question"]),
        )
        for row, pairs, known, tails in zip(
            manifest["tasks"], pairs_by_task("tasks"), pairs_by_task("known"), given, strict=True
        )
    ]
    return {split: tuple(task for where, task in tasks if where == split) for split in SPLITS}


def _one_array(column: pa.ChunkedArray) -> pa.LargeStringArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=pa.large_string())
