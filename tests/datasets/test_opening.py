"""A dataset from the cache is the one that was read, until one of its files changes."""

import os

import numpy as np
import pytest

from indexes import everything_on_disk, flip_byte
from tripleshot.datasets.catalog import load_atlas, load_dataset
from tripleshot.datasets.dataset import SPLITS
from tripleshot.datasets.nell_format import write_nell_layout
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.index_files import list_indexes

LINES = "".join(
    f"city:{number}\trelation{relation}\tcity:{(number * 7 + relation) % 60}\n"
    for relation in range(5)
    for number in range(55 if relation else 20)
)


@pytest.fixture
def on_disk():
    with everything_on_disk() as folder:
        yield folder


def assert_equal(found, expected):
    assert (found.name, found.notes) == (expected.name, expected.notes)
    for name in ("entities", "relations"):
        one, other = getattr(found.graph, name), getattr(expected.graph, name)
        assert one.names.equals(other.names)
        assert (one.labels is None) == (other.labels is None)
        assert one.labels is None or one.labels.equals(other.labels)
    for name in ("head_ids", "relation_ids", "tail_ids"):
        assert np.array_equal(getattr(found.graph, name), getattr(expected.graph, name))
    assert (found.graph.types is None) == (expected.graph.types is None)
    if found.graph.types is not None:
        assert found.graph.types.names == expected.graph.types.names
        assert np.array_equal(found.graph.types.offsets, expected.graph.types.offsets)
        assert np.array_equal(found.graph.types.values, expected.graph.types.values)
    for split in SPLITS:
        for task, other in zip(found.tasks(split), expected.tasks(split), strict=True):
            assert (task.name, task.label, task.question) == (other.name, other.label, other.question)
            assert np.array_equal(task.pairs, other.pairs)
            assert np.array_equal(task.known, other.known)
            assert np.array_equal(found.candidates(task), expected.candidates(other))
    assert found.content_hash == expected.content_hash
    assert found.graph.triples_hash == expected.graph.triples_hash


@pytest.mark.parametrize("which", ["tiny", "atlas"])
def test_a_saved_dataset_is_the_same_read_and_opened(which, tiny, tmp_path):
    dataset = tiny if which == "tiny" else load_atlas()
    dataset.save(tmp_path / "data")
    expected = load_dataset(tmp_path / "data")
    with everything_on_disk():
        for _ in ("read", "opened"):
            assert_equal(load_dataset(tmp_path / "data"), expected)
        assert [index.path.name for index in list_indexes()].count("dataset") == 1


def test_a_directory_laid_out_like_nell_one_is_the_same_read_and_opened(tmp_path, on_disk):
    (tmp_path / "cities.tsv").write_text(LINES)
    (tmp_path / "data").mkdir()
    write_nell_layout(load_dataset(tmp_path / "cities.tsv"), tmp_path / "data")
    assert_equal(load_dataset(tmp_path / "data"), load_dataset(tmp_path / "data"))


def test_a_file_of_triples_is_the_same_read_and_opened_and_warns_each_time(tmp_path, on_disk):
    (tmp_path / "cities.tsv").write_text(LINES + LINES.splitlines(keepends=True)[0])
    datasets = []
    for _ in ("read", "opened"):
        with pytest.warns(InputWarning, match="duplicate triple skipped"):
            datasets.append(load_dataset(tmp_path / "cities.tsv"))
    assert_equal(*datasets)
    assert not datasets[1].graph.head_ids.flags.writeable


def test_a_dataset_is_read_again_when_one_of_its_files_has_changed(tmp_path, on_disk):
    file = tmp_path / "cities.tsv"
    file.write_text(LINES)
    before = load_dataset(file)
    changed = LINES.replace("city:7\t", "city:z\t")
    state = file.stat()
    file.write_text(changed)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # as some tools set it back
    assert len(changed) == len(LINES)
    assert "city:z" in load_dataset(file).graph.entities
    assert "city:z" not in before.graph.entities


def test_a_damaged_dataset_is_an_error_though_it_was_opened_before(tiny, tmp_path, on_disk):
    tiny.save(tmp_path / "data")
    load_dataset(tmp_path / "data")
    flip_byte(tmp_path / "data" / "dataset.json", 2)
    with pytest.raises(InputError, match="not readable"):
        load_dataset(tmp_path / "data")


def test_a_damaged_cache_is_made_anew(tiny, tmp_path, on_disk):
    tiny.save(tmp_path / "data")
    load_dataset(tmp_path / "data")
    (cached,) = on_disk.glob("*/dataset")
    for file in ("tail_ids.bin", "entities_names_text.bin", "manifest.json"):
        flip_byte(cached / file)
        assert_equal(load_dataset(tmp_path / "data"), tiny)


def test_the_same_file_under_another_name_is_another_dataset(tmp_path, on_disk):
    (tmp_path / "cities.tsv").write_text(LINES)
    (tmp_path / "towns.tsv").symlink_to(tmp_path / "cities.tsv")
    assert [load_dataset(tmp_path / name).name for name in ("cities.tsv", "towns.tsv")] == ["cities", "towns"]


def test_train_edges_are_the_same_made_and_opened(tiny, tmp_path, on_disk):
    tiny.save(tmp_path / "data")
    expected = tiny.with_train_edges.graph
    for _ in ("built", "opened"):
        graph = load_dataset(tmp_path / "data").with_train_edges.graph
        assert graph.relations.names.equals(expected.relations.names)
        assert (graph.relations.labels is None) == (expected.relations.labels is None)
        assert list(graph.triples()) == list(expected.triples())
        assert graph.triples_hash == expected.triples_hash
    assert "train_edges" in [index.path.name for index in list_indexes()]


def test_small_datasets_are_not_kept(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "home"))
    tiny.save(tmp_path / "data")
    load_dataset(tmp_path / "data")
    assert not (tmp_path / "home").exists()
