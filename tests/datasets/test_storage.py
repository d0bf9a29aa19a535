import json
from dataclasses import replace

import numpy as np
import pytest

from tripleshot.datasets.dataset import SPLITS, Task
from tripleshot.datasets.storage import load_saved_dataset
from tripleshot.errors import InputError


def test_saving_and_loading_gives_the_same_dataset(tiny, tmp_path):
    labelled = replace(tiny, graph=tiny.graph.with_labels({"city:0": "Rome"}), notes=("a note",))
    labelled.save(tmp_path / "saved")
    loaded = load_saved_dataset(tmp_path / "saved")
    assert loaded.content_hash == tiny.content_hash
    assert loaded.notes == ("a note",)
    assert loaded.graph.entities.label(loaded.graph.entities.id("city:0")) == "Rome"
    for split in SPLITS:
        for before, after in zip(tiny.tasks(split), loaded.tasks(split), strict=True):
            np.testing.assert_array_equal(before.pairs, after.pairs)
            np.testing.assert_array_equal(tiny.candidates(before), loaded.candidates(after))


def test_given_candidates_and_questions_survive(tiny, tmp_path):
    task = replace(Task.of("t", np.array([[0, 1], [2, 3]]), given_candidates=np.array([3, 1])), question="Where?")
    replace(tiny, test=(task,)).save(tmp_path / "saved")
    loaded = load_saved_dataset(tmp_path / "saved").task("t")
    assert loaded.question == "Where?"
    assert loaded.given_candidates is not None
    assert loaded.given_candidates.tolist() == [1, 3]


def test_a_dataset_without_types_and_labels_survives(tiny, tmp_path):
    bare = replace(tiny, graph=tiny.graph.with_types(None))
    bare.save(tmp_path / "saved")
    loaded = load_saved_dataset(tmp_path / "saved")
    assert loaded.graph.types is None
    assert loaded.graph.entities.labels is None


def test_a_dataset_without_tasks_can_be_saved(tiny, tmp_path):
    replace(tiny, train=(), valid=(), test=()).save(str(tmp_path / "saved"))
    loaded = load_saved_dataset(tmp_path / "saved")
    assert list(loaded.all_tasks()) == []
    assert loaded.graph.num_triples == tiny.graph.num_triples


def test_the_hash_changes_with_every_part_that_can_change_a_result(tiny):
    graph = tiny.graph
    task = tiny.test[0]
    others = [
        replace(tiny, graph=graph.with_types(None)),
        replace(tiny, graph=replace(graph, tail_ids=graph.tail_ids[::-1].copy())),
        replace(tiny, test=tiny.test[:1]),
        replace(tiny, valid=(), train=(*tiny.train, *tiny.valid)),
        replace(tiny, test=(Task.of(task.name, task.pairs[::-1]), tiny.test[1])),
        replace(tiny, test=(Task.of(task.name, task.pairs, known=np.array([[0, 0]])), tiny.test[1])),
        replace(tiny, test=(Task.of(task.name, task.pairs, given_candidates=np.array([1])), tiny.test[1])),
    ]
    hashes = [dataset.content_hash for dataset in [tiny, *others]]
    assert len(set(hashes)) == len(hashes)


def test_an_existing_folder_is_not_replaced_unless_asked(tiny, tmp_path):
    tiny.save(tmp_path / "saved")
    with pytest.raises(InputError, match="exists already"):
        tiny.save(tmp_path / "saved")
    replace(tiny, name="newer").save(tmp_path / "saved", overwrite=True)
    assert load_saved_dataset(tmp_path / "saved").name == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_changed_file_is_noticed(tiny, tmp_path):
    tiny.save(tmp_path / "saved")
    replace(tiny, test=tiny.test[::-1]).save(tmp_path / "other")
    (tmp_path / "other" / "tasks.parquet").replace(tmp_path / "saved" / "tasks.parquet")
    with pytest.raises(InputError, match="changed since it was written"):
        load_saved_dataset(tmp_path / "saved")


@pytest.mark.parametrize("damage", ["truncate", "remove", "page", "format"])
def test_a_damaged_folder_is_one_clear_error(tiny, tmp_path, damage):
    folder = tmp_path / "saved"
    tiny.save(folder)
    if damage == "truncate":
        (folder / "triples.parquet").write_bytes((folder / "triples.parquet").read_bytes()[:50])
    elif damage == "remove":
        (folder / "entities.parquet").unlink()
    elif damage == "page":
        (folder / "dataset.json").write_text("{")
    else:
        page = json.loads((folder / "dataset.json").read_text())
        (folder / "dataset.json").write_text(json.dumps({**page, "format": 99}))
    with pytest.raises(InputError, match="saved"):
        load_saved_dataset(folder)


def test_a_label_or_a_question_that_was_changed_is_noticed(tiny, tmp_path):
    labelled = replace(tiny, graph=tiny.graph.with_labels({"city:0": "Rome"}))
    labelled.save(tmp_path / "saved")
    replace(tiny, graph=tiny.graph.with_labels({"city:0": "Nome"})).save(tmp_path / "other")
    (tmp_path / "other" / "entities.parquet").replace(tmp_path / "saved" / "entities.parquet")
    with pytest.raises(InputError, match=r"entities\.parquet: changed since it was written"):
        load_saved_dataset(tmp_path / "saved")
    labelled.save(tmp_path / "saved", overwrite=True)
    page = tmp_path / "saved" / "dataset.json"
    page.write_text(page.read_text().replace("works in", "walks in"))
    with pytest.raises(InputError, match=r"dataset\.json: changed since it was written"):
        load_saved_dataset(tmp_path / "saved")


def test_a_dataset_that_was_written_without_checksums_is_read(tiny, tmp_path):
    tiny.save(tmp_path / "saved")
    page = json.loads((tmp_path / "saved" / "dataset.json").read_text())
    del page["files"], page["checksum"]
    (tmp_path / "saved" / "dataset.json").write_text(json.dumps(page))
    assert load_saved_dataset(tmp_path / "saved").content_hash == tiny.content_hash


@pytest.mark.nell
def test_nell_one_survives_and_is_compact(nell_one, tmp_path):
    nell_one.save(tmp_path / "nell")
    assert load_saved_dataset(tmp_path / "nell").content_hash == nell_one.content_hash
    assert sum(path.stat().st_size for path in (tmp_path / "nell").iterdir()) < 5_000_000
