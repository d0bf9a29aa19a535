import json
import shutil
from dataclasses import replace

import pytest

from tripleshot.datasets import catalog
from tripleshot.datasets.catalog import fetch_dataset, load_atlas, load_dataset
from tripleshot.datasets.checks import check_dataset
from tripleshot.errors import FetchError, InputError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_atlas_is_sound_and_readable():
    atlas = load_atlas()
    assert atlas.graph.num_entities >= 5000
    assert atlas.graph.types is not None
    assert [finding.text for finding in check_dataset(atlas) if finding.is_problem] == []
    assert len([task for _, task in atlas.all_tasks()]) >= 20
    for _, task in atlas.all_tasks():
        assert 50 < len(task.pairs) < 500
        assert task.label
        assert "{head}" in task.question
    assert atlas.notes == ()


def test_a_saved_folder_loads(tiny, tmp_path):
    tiny.save(tmp_path / "saved")
    assert load_dataset(str(tmp_path / "saved")).name == "tiny"


def test_a_file_of_triples_is_split_by_the_rule(tmp_path):
    lines = [f"h{i}\tr{r}\tt{r}-{i % 9}" for r in range(5) for i in range(60)]
    (tmp_path / "graph.tsv").write_text("\n".join(lines))
    dataset = load_dataset(tmp_path / "graph.tsv")
    assert dataset.name == "graph"
    assert [len(dataset.train), len(dataset.valid), len(dataset.test)] == [3, 1, 1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (7, "source must be a name in the catalog or a path, not 7"),
        ("atlass", "did you mean 'atlas'"),
        ("nell-one", r"run `tripleshot data fetch nell-one` or load_dataset\('nell-one', fetch=True\)"),
        (".", "neither a dataset saved by tripleshot nor a NELL-One directory"),
    ],
)
def test_what_is_not_there_is_said(source, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        load_dataset(source)


def test_atlas_needs_no_fetching_and_strangers_cannot_be_fetched():
    with pytest.raises(InputError, match="comes with the package"):
        fetch_dataset("atlas")
    with pytest.raises(InputError, match="did you mean 'nell-one'"):
        fetch_dataset("nell")


def test_wrong_files_are_refused_by_hash(tmp_path, home):
    folder = tmp_path / "fake"
    folder.mkdir()
    for name in catalog.REMOTE["nell-one"].files:
        (folder / name).write_text("{}")
    with pytest.raises(FetchError, match="SHA-256"):
        fetch_dataset("nell-one", str(folder))
    assert not (home / "nell-one").exists()


def test_a_dataset_that_is_missing_is_fetched_when_asked_for(monkeypatch):
    source = catalog.REMOTE["nell-one"]
    monkeypatch.setitem(catalog.REMOTE, "nell-one", replace(source, urls=("file:///nowhere",)))
    with pytest.raises(InputError, match="nowhere: there is no such folder or archive"):
        load_dataset("nell-one", fetch=True)


@pytest.mark.nell
def test_nell_one_is_fetched_once_by_load_dataset(nell_folder, monkeypatch):
    source = catalog.REMOTE["nell-one"]
    monkeypatch.setitem(catalog.REMOTE, "nell-one", replace(source, urls=(str(nell_folder),)))
    dataset = load_dataset("nell-one", fetch=True)
    monkeypatch.setitem(catalog.REMOTE, "nell-one", replace(source, urls=()))
    assert load_dataset("nell-one", fetch=True).content_hash == dataset.content_hash


@pytest.mark.nell
def test_nell_one_is_fetched_from_a_folder_and_its_candidates_rebuilt(nell_folder, tmp_path, home):
    source = tmp_path / "copy"
    shutil.copytree(nell_folder, source)
    (source / "rel2candidates.json").chmod(0o644)
    source.chmod(0o755)
    (source / "rel2candidates.json").unlink()
    assert fetch_dataset("nell-one", str(source)) == home / "nell-one"
    rebuilt = json.loads((home / "nell-one" / "rel2candidates.json").read_text())
    assert len(rebuilt) == 73
    assert load_dataset("nell-one").name == "nell-one"
