import gzip
import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexes import everything_on_disk
from tripleshot.datasets import catalog
from tripleshot.datasets.catalog import fetch_dataset, load_atlas, load_dataset, load_whole_graph, relative_source
from tripleshot.datasets.checks import check_dataset
from tripleshot.errors import FetchError, InputError, InputWarning
from tripleshot.graph.index_files import list_indexes


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


def test_every_triple_of_a_file_is_in_the_graph_whatever_its_relations_hold(tmp_path):
    lines = [f"person {i}\tlives in\tcity {i % 9}" for i in range(60)] + ["city 1\tin\tcountry 1"]
    (tmp_path / "own.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    whole = load_whole_graph(tmp_path / "own.tsv.gz")
    assert (whole.name, whole.graph.num_triples, [*whole.all_tasks()]) == ("own", 61, [])
    with pytest.raises(InputError, match=r"1 of 2 relations.*a graph can be asked without tasks"):
        load_dataset(tmp_path / "own.tsv.gz")


def test_every_triple_of_a_dataset_is_in_the_graph(tiny, tmp_path):
    tiny.save(tmp_path / "data")
    whole = load_whole_graph(tmp_path / "data")
    assert set(whole.graph.triples()) == set(tiny.whole.graph.triples())
    assert whole.graph.types is not None
    assert "on_sea" in load_whole_graph("atlas").graph.relations
    assert "on_sea" not in load_dataset("atlas").graph.relations


def test_a_large_file_is_read_once_and_opened_from_then_on(tmp_path, monkeypatch):
    path = tmp_path / "own.csv"
    path.write_text("a,b,c,note\ncity/1,in,land/1,x\ncity/1,in,land/1,x\n")
    with everything_on_disk():
        with pytest.warns(InputWarning, match="duplicate"):
            first = load_whole_graph(path, columns=("a", "b", "c"))
        monkeypatch.setattr(catalog, "read_graph", lambda *_, **__: pytest.fail("read again"))
        with pytest.warns(InputWarning, match="duplicate"):
            again = load_whole_graph(path, columns=("a", "b", "c"))
        assert [*first.graph.triples()] == [*again.graph.triples()] == [("city/1", "in", "land/1")]
        assert [index.path.name for index in list_indexes()].count("dataset") == 1


def test_a_path_from_a_folder_is_kept_for_what_is_no_name_of_the_catalog(tmp_path):
    assert relative_source("atlas", tmp_path) == relative_source("", tmp_path) == ""
    assert relative_source(str(tmp_path / "graph.tsv"), tmp_path / "runs" / "one") == "../../graph.tsv"


def test_a_folder_of_parquet_files_is_asked_like_a_file(tmp_path):
    for number in range(2):
        columns = {"head": [f"a{number}"], "relation": ["r"], "tail": ["b"]}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    assert load_whole_graph(tmp_path).graph.num_triples == 2
