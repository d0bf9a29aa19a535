"""What a run is, on disk: method, settings, the hash of its data, and the names that its weights belong to.

Ids follow from the data. Weights on another copy's ids would be scrambled without anyone noticing, so the vocabulary
travels with the weights: on other data they are matched by name, and what is strictly about the same data (an
evaluation, a resumed training) refuses another hash.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tripleshot.atomic import write_file
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.graph.readers.messages import warn
from tripleshot.graph.vocabulary import Vocabulary

CONFIG = "config.json"
VOCABULARY = "vocabulary.arrow"
FORMER_NAMES = {"rscl+": "evidence-net"}  # a run of a method that was renamed still loads
LEAST_KNOWN = 0.5  # share of a dataset's entities that a run must know to be of use on it


@dataclass(frozen=True)
class RunConfig:
    """What a run is.

    Attributes:
        method: its name in the table of methods.
        settings: the method's settings.
        shots: K it was trained for.
        data: the dataset as the user named it; `dataset` is its own name.
        data_hash: of its content.
        command: that trained it.
        commit: of the source that trained it.
        budget: seconds that training was given; 0 is as many as its steps take.
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


def save_config(config: RunConfig, folder: Path) -> None:
    """Write what the run is."""
    write_file(folder / CONFIG, (json.dumps(asdict(config), indent=1) + "\n").encode())


def load_config(folder: Path) -> RunConfig:
    """Read what a run is."""
    path = folder / CONFIG
    try:
        config = RunConfig(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder}: not a run, it has no {CONFIG}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not readable: {error}") from None
    if config.method not in FORMER_NAMES:
        return config
    name = FORMER_NAMES[config.method]
    warn(f"{folder}: a run of {config.method!r}, which is now called {name!r}")
    return replace(config, method=name)


@dataclass(frozen=True, eq=False)
class RunVocabulary:
    """The names that a run was trained on, in the order of its ids."""

    entities: Vocabulary
    relations: Vocabulary

    def fits(self, graph: KnowledgeGraph) -> bool:
        """Tell whether a graph has the same names with the same ids."""
        return self.begins(graph) and len(self.relations) == graph.num_relations

    def begins(self, graph: KnowledgeGraph) -> bool:
        """Tell whether a graph has the same names with the same ids, and perhaps more relations after them."""
        same_entities = self.entities.names.equals(graph.entities.names)
        return same_entities and self.relations.names.equals(graph.relations.names[: len(self.relations)])


def save_vocabulary(graph: KnowledgeGraph, folder: Path) -> None:
    """Write the names of a graph: one column of relations, then entities, and how many are relations."""
    names = [vocabulary.names for vocabulary in (graph.relations, graph.entities)]
    schema = pa.schema([("name", pa.large_string())], metadata={"num_relations": str(graph.num_relations)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.table([pa.chunked_array(names, type=pa.large_string())], schema=schema))
    write_file(folder / VOCABULARY, sink.getvalue().to_pybytes())


def load_vocabulary(folder: Path) -> RunVocabulary | None:
    """Read the names that a run was trained on; None if it keeps none."""
    path = folder / VOCABULARY
    if not path.exists():
        return None
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        num_relations = int(table.schema.metadata[b"num_relations"])
        names = pa.concat_arrays([pa.array([], type=pa.large_string()), *table.column("name").chunks])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise InputError(f"{path}: not readable as a vocabulary: {error}") from None
    return RunVocabulary(Vocabulary("entity", names[num_relations:]), Vocabulary("relation", names[:num_relations]))


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
    trained, graph = load_vocabulary(folder), dataset.graph
    if trained is None:
        raise _other_data(config, dataset, found)
    new_entities = int(np.sum(trained.entities.find(graph.entities.names) < 0))
    new_relations = int(np.sum(trained.relations.find(graph.relations.names) < 0))
    if graph.num_entities - new_entities < LEAST_KNOWN * graph.num_entities:
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
