"""The file layout of NELL-One and Wiki-One, read exactly and written for others.

`path_graph` is the background; `train_tasks.json`, `dev_tasks.json` and `test_tasks.json` hold the tasks;
`rel2candidates.json` the candidates; `e1rel_e2.json` the known tails by head and relation names written together.
Ids in `ent2ids` are never trusted and its key order never matters: copies in the wild differ in it.
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tripleshot.datasets.dataset import FewShotDataset, Split, Task
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.knowledge_graph import INVERSE_SUFFIX, KnowledgeGraph
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import types_from_names
from tripleshot.graph.vocabulary import Vocabulary

TASK_FILES: dict[Split, str] = {"train": "train_tasks.json", "valid": "dev_tasks.json", "test": "test_tasks.json"}
PLACEHOLDERS = {"", "OOV"}  # names that some copies of ent2ids list and every loader skips
ROWS_AT_ONCE = 1_000_000

NamedTriples = list[tuple[str, str, str]]


def is_nell_layout(folder: Path) -> bool:
    """Tell whether a folder looks like a NELL-One directory."""
    return (folder / "path_graph").is_file()


def read_nell_layout(folder: Path, name: str | None = None) -> FewShotDataset:
    """Read a NELL-One or Wiki-One directory, first triples of each task first, as every published result does."""
    tasks = {split: _read_tasks(folder / file) for split, file in TASK_FILES.items()}
    graph = _read_background(folder, tasks.values())
    candidates = _read_candidates(folder, graph)
    relations = {relation for split in tasks.values() for relation in split}
    known = _read_known_tails(folder, graph, relations | set(candidates))

    def make(relation: str, triples: NamedTriples) -> Task:
        pairs = graph.entities.ids([name for head, _, tail in triples for name in (head, tail)])
        return Task.of(relation, pairs, known.get(relation), candidates.get(relation))

    made = {split: tuple(make(*item) for item in tasks[split].items()) for split in tasks}
    return FewShotDataset(name or folder.resolve().name, graph, made["train"], made["valid"], made["test"])


def _read_json(path: Path) -> Any:  # noqa: ANN401
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: missing; a NELL-One directory has this file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg}") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def _read_object(path: Path) -> dict[str, Any]:
    content = _read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected a JSON object, found a {type(content).__name__}")
    return content


def _read_tasks(path: Path) -> dict[str, NamedTriples]:
    tasks = _read_object(path)
    for relation, triples in tasks.items():
        if not isinstance(triples, list) or not triples:
            raise InputError(f"{path}: relation {relation!r} has no list of triples")
        for triple in triples:
            if not isinstance(triple, list) or len(triple) != 3 or not all(isinstance(x, str) and x for x in triple):
                raise InputError(f"{path}: relation {relation!r}: expected [head, relation, tail], found {triple!r}")
            if triple[1] != relation:
                raise InputError(f"{path}: relation {relation!r} lists a triple of relation {triple[1]!r}")
    return tasks


def _read_background(folder: Path, tasks: Iterable[dict[str, NamedTriples]]) -> KnowledgeGraph:
    """Read `path_graph`; entities that occur elsewhere only follow in the order of their names."""
    graph = read_graph(folder / "path_graph", header=False)
    names = {
        name for split in tasks for triples in split.values() for head, _, tail in triples for name in (head, tail)
    }
    if (folder / "ent2ids").exists():
        names |= _read_object(folder / "ent2ids").keys() - PLACEHOLDERS
    listed = sorted(names)
    added = [name for name, found in zip(listed, graph.entities.find(listed), strict=True) if found < 0]
    entities = Vocabulary.of("entity", [*graph.entities.names.to_pylist(), *added]) if added else graph.entities
    graph = KnowledgeGraph(entities, graph.relations, graph.head_ids, graph.relation_ids, graph.tail_ids)
    try:
        return graph.with_types(types_from_names(graph))
    except InputError:
        return graph


def _read_candidates(folder: Path, graph: KnowledgeGraph) -> dict[str, npt.NDArray[np.int32]]:
    path = folder / "rel2candidates.json"
    candidates: dict[str, npt.NDArray[np.int32]] = {}
    unknown = 0
    for relation, names in _read_object(path).items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{path}: the candidates of {relation!r} are not a list of names")
        found = graph.entities.find(names)
        unknown += int((found < 0).sum())
        candidates[relation] = found[found >= 0]
    if unknown:
        warnings.warn(f"{path}: {unknown} candidates left out, not among the entities", InputWarning, stacklevel=2)
    return candidates


def _read_known_tails(folder: Path, graph: KnowledgeGraph, relations: set[str]) -> Mapping[str, npt.NDArray[np.int32]]:
    """Undo the string concatenation of `e1rel_e2.json`: a key is an entity name followed by a relation name."""
    path = folder / "e1rel_e2.json"
    content = _read_object(path)
    lengths = sorted({len(relation) for relation in relations})
    readings = [(key, key[:-n], key[-n:]) for key in content for n in lengths if key[-n:] in relations]
    heads = graph.entities.find([head for _, head, _ in readings])
    understood = [reading for reading, head in zip(readings, heads, strict=True) if head >= 0]
    if missed := content.keys() - {key for key, _, _ in understood}:
        text = f"{path}: {len(missed)} keys left out, not an entity followed by a relation, such as {min(missed)!r}"
        warnings.warn(text, InputWarning, stacklevel=2)
    rows = [(head, relation, tail) for key, head, relation in understood for tail in content[key]]
    pairs = graph.entities.ids([name for head, _, tail in rows for name in (head, tail)]).reshape(-1, 2)
    of_relation = np.array([relation for _, relation, _ in rows])
    return {str(relation): pairs[of_relation == relation] for relation in np.unique(of_relation)}


def candidates_by_release_rule(folder: Path) -> dict[str, list[str]]:
    """Rebuild `rel2candidates.json`: every entity whose type is the type of some known tail of the relation."""
    graph = _read_background(folder, [_read_tasks(folder / file) for file in TASK_FILES.values()])
    types = types_from_names(graph)
    relations = {relation for file in TASK_FILES.values() for relation in _read_tasks(folder / file)}
    relations |= _relations_of_keys(_read_object(folder / "e1rel_e2.json"))
    known = _read_known_tails(folder, graph, relations)
    return {
        relation: sorted(graph.entities.name(int(entity)) for entity in types.members(types.of(known[relation][:, 1])))
        for relation in sorted(known)
    }


def _relations_of_keys(keys: Iterable[str]) -> set[str]:
    """Read relation names off the keys: what follows the last `concept:` (NELL-One names every relation so)."""
    return {f"concept:{key.rpartition('concept:')[2]}" for key in keys if "concept:" in key}


def write_nell_layout(dataset: FewShotDataset, folder: Path) -> None:
    """Write a dataset as a NELL-One directory, for the code of the papers that expect one."""
    _write_background(dataset.graph, folder / "path_graph")
    names: list[str] = dataset.graph.entities.names.to_pylist()
    relations: list[str] = dataset.graph.relations.names.to_pylist()
    known: dict[str, list[str]] = {}
    candidates: dict[str, list[str]] = {}
    for _, task in dataset.all_tasks():
        candidates[task.name] = [names[entity] for entity in dataset.candidates(task)]
        for head, tail in task.known:
            known.setdefault(names[head] + task.name, []).append(names[tail])
    for split, file_name in TASK_FILES.items():
        _write_json(folder / file_name, {task.name: _named_triples(task, names) for task in dataset.tasks(split)})
    _write_json(folder / "rel2candidates.json", candidates)
    _write_json(folder / "e1rel_e2.json", known)
    _write_json(folder / "ent2ids", {name: index for index, name in enumerate(names)})
    with_inverses = [name for relation in relations for name in (relation, relation + INVERSE_SUFFIX)]
    _write_json(folder / "relation2ids", {name: index for index, name in enumerate(with_inverses)})


def _write_background(graph: KnowledgeGraph, path: Path) -> None:
    for vocabulary in (graph.entities, graph.relations):
        spaced = pc.match_substring_regex(vocabulary.names, r"\s").to_numpy(zero_copy_only=False)
        if spaced.any():
            name = vocabulary.name(int(np.argmax(spaced)))
            raise InputError(f"the NELL-One layout has no room for white space in names, such as {name!r}")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for start in range(0, graph.num_triples, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            heads = graph.entities.names.take(pa.array(graph.head_ids[rows]))
            relations = graph.relations.names.take(pa.array(graph.relation_ids[rows]))
            tails = graph.entities.names.take(pa.array(graph.tail_ids[rows]))
            lines = pc.binary_join_element_wise(heads, relations, tails, pa.scalar("\t", pa.large_string()))
            file.write("\n".join(lines.to_pylist()) + "\n")


def _named_triples(task: Task, names: Sequence[str]) -> list[list[str]]:
    return [[names[head], task.name, names[tail]] for head, tail in task.pairs]


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
