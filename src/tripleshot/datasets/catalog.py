"""Datasets by name: Atlas comes with the package, NELL-One and Wiki-One are fetched once and verified."""

import csv
import gzip
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from rich.progress import Progress

from tripleshot.datasets import download
from tripleshot.datasets.dataset import SPLITS, FewShotDataset
from tripleshot.datasets.download import RemoteDataset
from tripleshot.datasets.nell_format import candidates_by_release_rule, is_nell_layout, read_nell_layout
from tripleshot.datasets.opening import open_dataset
from tripleshot.datasets.splitting import make_dataset
from tripleshot.datasets.storage import is_saved_dataset, load_saved_dataset
from tripleshot.errors import InputError, did_you_mean
from tripleshot.files.atomic import cache_dir, recover, remove_abandoned, write_file
from tripleshot.files.locks import file_lock, lock_of
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers import Literals, read_graph
from tripleshot.graph.readers.tables import find_shards
from tripleshot.graph.types import find_types, types_from_mapping

logger = logging.getLogger(__name__)

ATLAS = "atlas"
CANDIDATES_FILE = "rel2candidates.json"

REMOTE = {
    "nell-one": RemoteDataset(
        name="nell-one",
        urls=("https://sites.cs.ucsb.edu/~xwhan/datasets/nell.tar.gz",),
        files={
            "path_graph": "2656b41f1e50f2b0d470abd6ee89f6485bf4e6e8be2dc468ebb716b3b1968936",
            "train_tasks.json": "b3bf56da6112442b9243efff319c206b431ada6292aad8e1f73dc610d905f53f",
            "dev_tasks.json": "b6fe8e053b428fe087fb662593fde6d3b7e6c83219f9aa78d2f219d25e1aebf0",
            "test_tasks.json": "5a0d6a7e1f359100ba313e5811f75e39d23a7089497e68ce4c06d354fdca72ab",
            "e1rel_e2.json": "7a3a727f22876262eccf3e39b3344e5439b4e0d591397a06eda86f9b2c4b07fd",
        },
    ),
    "wiki-one": RemoteDataset(
        name="wiki-one",
        urls=("https://sites.cs.ucsb.edu/~xwhan/datasets/wiki.tar.gz",),
        files=dict.fromkeys(
            ("path_graph", "train_tasks.json", "dev_tasks.json", "test_tasks.json", "e1rel_e2.json", CANDIDATES_FILE)
        ),
    ),
}
"""What can be fetched. `ent2ids` and `relation2ids` are not verified: copies differ in key order, which never matters.
No hash of Wiki-One's files is published, so only their presence is checked."""


def dataset_names() -> list[str]:
    """Return every name in the catalog."""
    return [ATLAS, *REMOTE]


def fetch_dataset(
    name: str, source: str | None = None, rebuild_candidates: bool = False, progress: Progress | None = None
) -> Path:
    """Download a dataset, unless it is on this machine already, and return its folder.

    Args:
        name: `nell-one` or `wiki-one`.
        source: a folder, an archive or a URL to take it from, instead of the original link.
        rebuild_candidates: make `rel2candidates.json` anew by the release's rule, from entity types in names. It is
            also made where the source lacks it (NELL-One only).
        progress: where downloads are shown; None shows nothing.
    """
    if name == ATLAS:
        raise InputError("atlas comes with the package: there is nothing to fetch")
    if name not in REMOTE:
        names = dataset_names()
        raise InputError(f"no dataset is called {name!r}, there are {', '.join(names)}{did_you_mean(name, names)}")
    folder = download.fetch(REMOTE[name], cache_dir() / name, source, progress=progress)
    if name == "nell-one" and (rebuild_candidates or not (folder / CANDIDATES_FILE).exists()):
        with file_lock(lock_of(folder)):
            remove_abandoned(folder / CANDIDATES_FILE)
            write_file(folder / CANDIDATES_FILE, json.dumps(candidates_by_release_rule(folder)).encode())
    return folder


def load_dataset(source: str | Path, fetch: bool = False) -> FewShotDataset:
    """Load a few-shot dataset: a name in the catalog, a folder, or a file of triples.

    A folder holds a dataset written by `FewShotDataset.save` or one in the NELL-One layout. A file of triples, or a
    folder of Parquet files with triples, is split by the paper's rule; `read_graph` and `make_dataset` have the
    options.

    Args:
        source: `atlas`, `nell-one`, `wiki-one` or a path.
        fetch: download a dataset of the catalog that is not on this machine yet.

    Raises:
        InputError: there is no such dataset, or it cannot be read.
        FetchError: a download failed.
    """
    if not isinstance(source, str | Path):
        raise InputError(f"source must be a name in the catalog or a path, not {source!r}")
    dataset = _load(source, fetch)
    logger.debug("read %s: %r", source, dataset)
    return dataset


def load_whole_graph(
    source: str | Path, columns: Sequence[str] | None = None, literals: Literals = "skip"
) -> FewShotDataset:
    """Load all triples of a source, to be asked about: a dataset without tasks, whose graph has every triple.

    Types are those of the dataset or, for a file of triples, those that can be found in it (`types.find_types`). An IRI
    without a label is labeled with its last part.

    Args:
        source: a name in the catalog, a folder with a dataset, or a file that `read_graph` reads.
        columns: of a file, those of head, relation and tail, as in `read_graph`.
        literals: of a file, whether they are left out or become entities.
    """

    def read_file(path: Path) -> FewShotDataset:
        graph = prepare_to_ask(read_graph(path, columns=columns, literals=literals))
        return FewShotDataset(_stem(path), graph, (), (), ())

    if str(source) == ATLAS:
        return load_atlas().whole
    path, name = _locate(source, fetch=False)
    role = json.dumps(["whole", name, columns, literals])
    if _is_dataset(path):
        return open_dataset(path, role, lambda: _read_folder(path, name).whole)
    return open_dataset(path, role, lambda: read_file(path))


def prepare_to_ask(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return a graph with the types that it has without being told where, and with short labels for IRIs."""
    types = find_types(graph) if graph.types is None else None
    typed = graph if types is None else graph.with_types(types)
    entities, relations = graph.entities.with_iri_labels(), graph.relations.with_iri_labels()
    if entities is graph.entities and relations is graph.relations:
        return typed
    return replace(typed, entities=entities, relations=relations)


def _load(source: str | Path, fetch: bool) -> FewShotDataset:
    if str(source) == ATLAS:
        return load_atlas()
    path, name = _locate(source, fetch)
    if _is_dataset(path):
        return open_dataset(path, name, lambda: _read_folder(path, name))
    return open_dataset(path, "", lambda: make_dataset(read_graph(path), name=_stem(path)))


def _locate(source: str | Path, fetch: bool) -> tuple[Path, str]:
    """Return where a dataset is, and its name if it is one of the catalog."""
    if str(source) in REMOTE:
        name, folder = str(source), cache_dir() / str(source)
        recover(folder)
        if fetch and not is_nell_layout(folder):
            fetch_dataset(name)
        if not is_nell_layout(folder):
            raise InputError(
                f"{name} is not on this machine yet: run `tripleshot data fetch {name}` "
                f"or load_dataset({name!r}, fetch=True)"
            )
        return folder, name
    path = Path(source)
    recover(path)
    if not path.exists():
        raise InputError(f"{source}: no such file, folder or dataset{did_you_mean(str(source), dataset_names())}")
    return path, ""


def _is_dataset(path: Path) -> bool:
    """Tell whether a path is to be read as a dataset; a file, and a folder of Parquet files alone, is triples."""
    return path.is_dir() and (is_saved_dataset(path) or is_nell_layout(path) or not find_shards(path))


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def absolute_source(source: str) -> str:
    """Return what finds a dataset again from any directory: its name in the catalog, or its whole path."""
    return source if not source or source in dataset_names() else str(Path(source).resolve())


def relative_source(source: str, folder: Path) -> str:
    """Return the path of a dataset from a folder; empty for one of the catalog, and where there is no such path."""
    if not source or source in dataset_names():
        return ""
    try:
        return os.path.relpath(Path(source).resolve(), folder.resolve())
    except ValueError:  # another drive
        return ""


def _read_folder(folder: Path, name: str) -> FewShotDataset:
    if not name and is_saved_dataset(folder):
        return load_saved_dataset(folder)
    if is_nell_layout(folder):
        return read_nell_layout(folder, name or None)
    raise InputError(
        f"{folder}: neither a dataset saved by tripleshot nor a NELL-One directory with a path_graph "
        "nor a folder of Parquet files"
    )


@cache
def load_atlas() -> FewShotDataset:
    """Load Atlas, the embedded graph of the world's places."""
    with as_file(files("tripleshot") / "data" / "atlas") as folder:
        graph = read_graph(folder / "triples.tsv.gz")
        entities = _read_rows(folder / "entities.tsv.gz")
        relations = _read_rows(folder / "relations.tsv")
    graph = graph.with_types(types_from_mapping(graph, {row["name"]: row["types"].split("|") for row in entities}))
    graph = graph.with_labels(
        {row["name"]: row["label"] for row in entities}, {row["name"]: row["label"] for row in relations}
    )
    splits = {split: [row["name"] for row in relations if row["split"] == split] for split in SPLITS}
    dataset = make_dataset(graph, name=ATLAS, splits=splits)
    questions = {row["name"]: row["question"] for row in relations}
    train, valid, test = (
        tuple(replace(task, question=questions[task.name]) for task in dataset.tasks(split)) for split in SPLITS
    )
    return replace(dataset, train=train, valid=valid, test=test)


def _read_rows(path: Path) -> list[dict[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
