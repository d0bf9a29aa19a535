import json
from pathlib import Path

import numpy as np
import pytest

from tripleshot.datasets.nell_format import candidates_by_release_rule, read_nell_layout, write_nell_layout
from tripleshot.datasets.splitting import make_dataset
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import types_from_names

TASKS = {
    "train_tasks.json": {"concept:likes": [["concept:person:ann", "concept:likes", "concept:city:paris"]]},
    "dev_tasks.json": {"concept:hates": [["concept:person:bob", "concept:hates", "concept:city:rome"]]},
    "test_tasks.json": {
        "concept:visits": [
            ["concept:person:bob", "concept:visits", "concept:city:rome"],
            ["concept:person:ann", "concept:visits", "concept:city:paris"],
        ]
    },
}
CITIES = ["concept:city:rome", "concept:city:paris", "concept:city:oslo"]


@pytest.fixture
def folder(tmp_path) -> Path:
    triples = [
        ("person:ann", "knows", "person:bob"),
        ("city:paris", "near", "city:rome"),
        ("city:oslo", "near", "0-15"),
    ]
    lines = [f"concept:{h}\tconcept:{r}\tconcept:{t}" for h, r, t in triples]
    (tmp_path / "path_graph").write_text("\n".join(lines).replace("concept:0-15", "0-15") + "\n")
    known: dict[str, list[str]] = {"concept:person:annconcept:gone": ["concept:city:oslo"]}
    for name, tasks in TASKS.items():
        write(tmp_path / name, tasks)
        for relation, rows in tasks.items():
            for head, _, tail in rows:
                known.setdefault(head + relation, []).append(tail)
    known["concept:person:annconcept:visits"].append("concept:city:oslo")
    write(tmp_path / "e1rel_e2.json", known)
    relations = ["concept:likes", "concept:hates", "concept:visits", "concept:gone"]
    write(tmp_path / "rel2candidates.json", dict.fromkeys(relations, CITIES))
    write(tmp_path / "ent2ids", {"": 0, "OOV": 1, "concept:person:zoe": 5, "concept:person:ann": 2})
    return tmp_path


def write(path, content):
    path.write_text(json.dumps(content))


def test_tasks_keep_the_order_of_the_file(folder):
    dataset = read_nell_layout(folder)
    names = [dataset.graph.entities.name(int(head)) for head in dataset.test[0].pairs[:, 0]]
    assert names == ["concept:person:bob", "concept:person:ann"]


def test_known_tails_are_read_from_the_concatenated_keys(folder):
    dataset = read_nell_layout(folder)
    tails = dataset.task("concept:visits").known_tails(dataset.graph.entities.id("concept:person:ann"))
    assert {dataset.graph.entities.name(int(tail)) for tail in tails} == {"concept:city:paris", "concept:city:oslo"}


def test_entities_that_only_ent2ids_lists_are_there_and_placeholders_are_not(folder):
    entities = read_nell_layout(folder).graph.entities
    assert "concept:person:zoe" in entities
    assert "OOV" not in entities


def test_the_key_order_of_ent2ids_does_not_matter(folder):
    before = read_nell_layout(folder).content_hash
    content = json.loads((folder / "ent2ids").read_text())
    write(folder / "ent2ids", {name: number for number, name in enumerate(reversed(content))})
    assert read_nell_layout(folder).content_hash == before


def test_candidates_can_be_rebuilt_by_the_rule_of_the_release(folder):
    rebuilt = candidates_by_release_rule(folder)
    assert {relation: set(names) for relation, names in rebuilt.items()} == {
        f"concept:{name}": set(CITIES) for name in ("likes", "hates", "visits", "gone")
    }


def test_writing_and_reading_again_says_the_same(folder, tmp_path):
    dataset = read_nell_layout(folder)
    copy = tmp_path / folder.name
    copy.mkdir()
    write_nell_layout(dataset, copy)
    assert read_nell_layout(copy).content_hash == dataset.content_hash


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test_tasks.json", None, "test_tasks.json: missing"),
        ("test_tasks.json", '{"r": [["a", "r"]]}', r"test_tasks.json: relation 'r': expected \[head, relation, tail\]"),
        ("test_tasks.json", '{"r": []}', "relation 'r' has no list of triples"),
        ("test_tasks.json", '{"r": [["a", "s", "b"]]}', "lists a triple of relation 's'"),
        ("test_tasks.json", '{"r":\n', "test_tasks.json:2: not valid JSON"),
        ("rel2candidates.json", '{"r": 5}', "rel2candidates.json: the candidates of 'r' are not a list"),
        ("e1rel_e2.json", "[]", "e1rel_e2.json: expected a JSON object"),
        ("path_graph", "only two\tcolumns\n", "path_graph:1"),
    ],
)
def test_a_broken_file_is_named(folder, name, content, message):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_nell_layout(folder)


def test_candidates_and_keys_that_mean_nothing_are_counted(folder):
    write(folder / "rel2candidates.json", {"concept:likes": [*CITIES, "nobody"]})
    write(folder / "e1rel_e2.json", {"rubbish": []})
    with pytest.warns(InputWarning) as caught:
        read_nell_layout(folder)
    texts = " ".join(str(warning.message) for warning in caught)
    assert "1 candidates left out" in texts
    assert "1 keys left out" in texts


def test_names_with_white_space_have_no_place_in_the_layout(folder, tmp_path):
    (tmp_path / "graph.tsv").write_text("\n".join(f"a b\tr{i % 3}\tx{i}" for i in range(30)))
    dataset = make_dataset(read_graph(tmp_path / "graph.tsv"), splits={"train": ["r0"], "valid": [], "test": ["r1"]})
    with pytest.raises(InputError, match="no room for white space in names, such as 'a b'"):
        write_nell_layout(dataset, tmp_path)


@pytest.mark.nell
def test_nell_one_is_read_whole(nell_one):
    assert (nell_one.graph.num_entities, nell_one.graph.num_relations, nell_one.graph.num_triples) == (
        68544,
        291,
        181109,
    )
    tasks = [nell_one.tasks(split) for split in ("train", "valid", "test")]
    assert [len(split) for split in tasks] == [51, 5, 11]
    assert [sum(len(task.pairs) for task in split) for split in tasks] == [8526, 1004, 2158]
    counts = {task.name.removeprefix("concept:"): len(nell_one.candidates(task)) for task in nell_one.test}
    assert counts["teamcoach"] == 10569
    assert counts["sportsgamesport"] == 123
    queries = np.concatenate([task.queries(5) for task in nell_one.test])
    assert nell_one.long_tail(queries).sum() == 1686


@pytest.mark.nell
def test_nell_one_candidates_are_those_of_the_release_rule(nell_folder):
    published = json.loads((nell_folder / "rel2candidates.json").read_text())
    rebuilt = candidates_by_release_rule(nell_folder)
    assert {relation: set(names) for relation, names in rebuilt.items()} == {
        relation: set(names) for relation, names in published.items()
    }


@pytest.mark.nell
def test_nell_one_made_from_plain_triples_has_the_published_candidates(nell_folder, tmp_path):
    lines = [(nell_folder / "path_graph").read_text()]
    for name in TASKS:
        tasks = json.loads((nell_folder / name).read_text())
        lines += ["\t".join(triple) + "\n" for triples in tasks.values() for triple in triples]
    (tmp_path / "all.tsv").write_text("".join(lines))
    graph = read_graph(tmp_path / "all.tsv")
    dataset = make_dataset(graph.with_types(types_from_names(graph)), name="made")
    published = json.loads((nell_folder / "rel2candidates.json").read_text())
    both = [task for _, task in dataset.all_tasks() if task.name in published]
    assert len(both) == 67
    assert [len(dataset.candidates(task)) for task in both] == [len(published[task.name]) for task in both]
