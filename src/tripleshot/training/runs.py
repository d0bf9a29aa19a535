"""What a run is, on disk: method, settings, the hash of its data, and the names that its weights belong to.

Ids follow from the data. Weights on another copy's ids would be scrambled without anyone noticing, so the vocabulary
travels with the weights: on other data they are matched by name, and what is strictly about the same data (an
evaluation, a resumed training) refuses another hash.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, warn
from tripleshot.files.atomic import new_file, write_file
from tripleshot.files.checksums import changed, read_document, seal_document
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.vocabulary import Vocabulary, hash_vocabulary
from tripleshot.methods import find_method
from tripleshot.methods.protocol import Method
from tripleshot.methods.trainable import (
    PRETRAINED,
    UNIVERSAL,
    UNIVERSAL_NAME,
    WEIGHTS,
    StartKind,
    TrainableMethod,
    TrainedNames,
    TrainedWeights,
    Vectors,
)
from tripleshot.training.weight_files import read_weights

logger = logging.getLogger(__name__)

CONFIG = "config.json"
VOCABULARY = "vocabulary.arrow"
DATA = "data"  # the dataset inside a run that can be given away
KINDS = {
    **dict.fromkeys(("method", "data", "dataset", "data_hash", "command", "data_from_run"), (str,)),
    "settings": (dict,),
    "shots": (int,),
    "budget": (float, int),
    "commit": (str, type(None)),
}
FORMER_NAMES = {"rscl+": "evidence-net"}
MIN_KNOWN = 0.5  # share of a dataset's entities that a run must know to be of use on it


@dataclass(frozen=True)
class RunConfig:
    """What a run is.

    Attributes:
        method: its name in the table of methods.
        settings: the method's settings.
        shots: K it was trained for.
        data: the dataset's name in the catalog, or its path; `dataset` is its own name.
        data_hash: of its content.
        command: that trained it.
        commit: of the source that trained it.
        budget: seconds that training was given; 0 is as many as its steps take.
        data_from_run: the dataset's path from the folder of the run, so that both can be moved together; empty for a
            dataset of the catalog or in memory.
    """

    method: str
    settings: dict[str, Any]
    shots: int
    data: str
    dataset: str
    data_hash: str
    command: str
    commit: str | None
    budget: float = 0.0
    data_from_run: str = ""


def save_config(config: RunConfig, folder: Path) -> None:
    """Write what the run is."""
    write_file(folder / CONFIG, (json.dumps(seal_document(asdict(config)), indent=1) + "\n").encode())


def load_config(folder: Path) -> RunConfig:
    """Read what a run is."""
    path = folder / CONFIG
    try:
        read = read_document(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: not a run, it has no {CONFIG}") from None
    known, needed = _config_fields()
    if not isinstance(read, dict) or read.keys() - known or needed - read.keys():
        raise InputError(f"{path}: does not describe a run: it needs {', '.join(sorted(needed))}, and nothing else")
    for name, kinds in KINDS.items():
        if not isinstance(read.get(name, kinds[0]()), kinds):
            raise InputError(f"{path}: does not describe a run: {name} cannot be {read[name]!r}")
    if read["method"] in FORMER_NAMES:
        former, read["method"] = read["method"], FORMER_NAMES[read["method"]]
        warn(f"{folder}: was trained as {former}, which is now called {read['method']}")
    return RunConfig(**read)


def _config_fields() -> tuple[set[str], set[str]]:
    """Return the names of all fields of a run's description, and of those that it must have."""
    every = fields(RunConfig)
    return {field.name for field in every}, {field.name for field in every if field.default is MISSING}


def save_names(graph: KnowledgeGraph, folder: Path) -> None:
    """Write the names of a graph: one column of relations, then entities, and how many are relations."""
    names = [vocabulary.names for vocabulary in (graph.relations, graph.entities)]
    about = {"num_relations": str(graph.num_relations), "sha256": _hash_names(*names)}
    schema = pa.schema([("name", pa.large_string())], metadata=about)
    with new_file(folder / VOCABULARY) as temporary, pa.ipc.new_file(str(temporary), schema) as writer:
        writer.write_table(pa.table([pa.chunked_array(names, type=pa.large_string())], schema=schema))


def load_names(folder: Path) -> TrainedNames | None:
    """Read the names that a run was trained on; None if it keeps none."""
    path = folder / VOCABULARY
    if not path.exists():
        return None
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)  # a damaged offset would be followed out of memory
        num_relations = int(table.schema.metadata[b"num_relations"])
        relations, entities = (
            _one_array(table.column("name").slice(*part)) for part in ((0, num_relations), (num_relations,))
        )
        expected = table.schema.metadata.get(b"sha256", b"").decode()
        found = expected and _hash_names(relations, entities)
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        raise InputError(f"{path}: not readable as a vocabulary: {error}") from None
    if found != expected:
        raise changed(path)
    return TrainedNames(Vocabulary("entity", entities), Vocabulary("relation", relations))


def _hash_names(relations: pa.LargeStringArray, entities: pa.LargeStringArray) -> str:
    """Return what changes with any name of a run."""
    return hash_vocabulary(Vocabulary("relation", relations)) + hash_vocabulary(Vocabulary("entity", entities))


def _one_array(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """Return a column as one array: as it is, mapped from its file, if it is in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


def load_trained_weights(folder: Path, name: str = WEIGHTS) -> TrainedWeights:
    """Read the weights of a run, and the names that they belong to."""
    path = folder / name
    return TrainedWeights(lambda framework: read_weights(path, framework), load_names(folder), str(path))


def load_start(kind: StartKind, start: str, dataset: FewShotDataset) -> Vectors | TrainedWeights:
    """Read what a training starts from: a run that its setting `pretrained` names, or the weights of the package."""
    folder = Path(start)
    match kind:
        case "nothing":
            raise InputError(f"{folder}: the method does not start from what another has learned")
        case "vectors":
            return _load_vectors(folder, dataset)
        case "weights":
            require_same_data(load_config(folder), dataset)
            return load_trained_weights(folder)
        case "network":
            return load_trained_weights(UNIVERSAL if start == UNIVERSAL_NAME else folder)
        case "pre-training":
            settings: Mapping[str, Any] = {}
            if (folder / CONFIG).exists():
                config = load_config(folder)
                require_same_data(config, dataset)
                settings = config.settings
            return replace(load_trained_weights(folder, PRETRAINED), settings=settings)


def _load_vectors(folder: Path, dataset: FewShotDataset) -> Vectors:
    """Read the vectors of a run of an embedding method, by the names of a dataset's graph."""
    config = load_config(folder)
    exporter = getattr(find_method(config.method).method_class(), "export_vectors", None)
    if exporter is None:
        raise InputError(f"{folder}: {config.method} has no vectors to start from; TransE, DistMult, ComplEx have")
    weights = load_trained_weights(folder)
    if weights.names is None:
        raise InputError(f"{folder}: has no vocabulary to find its vectors by: train it again")
    require_known_names(config, dataset, folder)
    return exporter(weights, dataset.graph)


def load_run(
    folder: Path, dataset: FewShotDataset, changes: Mapping[str, Any] | None = None
) -> tuple[Method, RunConfig]:
    """Return the method of a run, ready to score, and what the run is.

    Any data but those of the training are refused, as an honest evaluation must, unless the weights know no names.

    Args:
        folder: of the run.
        dataset: to score on.
        changes: settings in place of the run's, of those that have their part in scoring alone.
    """
    config = load_config(folder)
    config = replace(config, settings={**config.settings, **(changes or {})})
    entry = find_method(config.method)
    if not entry.learns or entry.method_class().knows_names:
        require_same_data(config, dataset)
    return restore_method(config, folder, dataset), config


def restore_method(config: RunConfig, folder: Path, dataset: FewShotDataset, device: str = "cpu") -> Method:
    """Return the method of a run, ready to score on a dataset: with its weights, or prepared if it does not learn."""
    entry = find_method(config.method)
    if unknown := ", ".join(sorted(config.settings.keys() - entry.setting_names())):
        raise InputError(f"{folder}: was trained by another version, with settings that are not known here: {unknown}")
    method = entry.create(config.settings, device)
    if isinstance(method, TrainableMethod):
        weights = load_trained_weights(folder)
        method.restore(dataset, replace(weights, pretrained=_find_pretraining(config, folder)))
    else:
        method.prepare(dataset, config.shots)
    logger.info("loaded %s, %d-shot, from %s", config.method, config.shots, folder)
    return method


def _find_pretraining(config: RunConfig, folder: Path) -> TrainedWeights | None:
    """Look for the weights between pre-training and episodes: in the run, or in the one that it started from."""
    start = config.settings.get("pretrained")
    places = (folder, Path(start), folder.parent / start) if start else (folder,)
    found = (place for place in places if (place / PRETRAINED).exists())
    return next((load_trained_weights(place, PRETRAINED) for place in found), None)


def require_same_data(config: RunConfig, dataset: FewShotDataset) -> None:
    """Refuse a dataset that the run was not trained on."""
    found = dataset.content_hash
    if found != config.data_hash:
        raise _other_data(config, dataset, found)


def require_known_names(config: RunConfig, dataset: FewShotDataset, folder: Path) -> None:
    """Refuse a dataset of which the run knows less than half of the entities; warn of names that are new to it."""
    found = dataset.content_hash
    if found == config.data_hash:
        return
    trained, graph = load_names(folder), dataset.graph
    if trained is None:
        raise _other_data(config, dataset, found)
    new_entities = int(np.sum(trained.entities.find(graph.entities.names) < 0))
    new_relations = int(np.sum(trained.relations.find(graph.relations.names) < 0))
    if graph.num_entities - new_entities < MIN_KNOWN * graph.num_entities:
        raise _other_data(config, dataset, found)
    if new_entities or new_relations:
        warn(
            f"{new_entities:,} of {graph.num_entities:,} entities and {new_relations:,} of {graph.num_relations:,} "
            f"relations of {dataset.name} are new to the run: it has no embedding of them"
        )


def _other_data(config: RunConfig, dataset: FewShotDataset, found: str) -> InputError:
    return InputError(
        f"the run was trained on {config.dataset} {config.data_hash[:12]}…, "
        f"this is {dataset.name} {found[:12]}…: the weights would not fit its ids"
    )
