"""Indexes on disk are those in memory, whoever builds them and whatever happens to the files."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of_ids
from indexes import everything_on_disk, flip_byte
from tripleshot.graph import index_files
from tripleshot.graph.index_files import drop_least_used, keep, list_indexes, open_or_build, read_columns
from tripleshot.graph.paths import PairIndex
from tripleshot.graph.relation_profiles import RelationProfiles

NUM_ENTITIES, NUM_RELATIONS = 6, 3
TRIPLES = st.lists(
    st.tuples(st.integers(0, NUM_ENTITIES - 1), st.integers(0, NUM_RELATIONS - 1), st.integers(0, NUM_ENTITIES - 1)),
    max_size=25,
)
BLOCKS = [{"ids": np.arange(3, dtype=np.int32), "shares": np.array([0.5])}, {"ids": np.arange(2, dtype=np.int32)}]
IDS = [0, 1, 2, 0, 1]


@pytest.fixture
def on_disk():
    with everything_on_disk() as folder:
        yield folder


def indexes_of(graph):
    """Return every array that is kept for a graph, by name."""
    pairs, profiles = PairIndex(graph), RelationProfiles(graph)
    found = {f"adjacency {name}": column for name, column in vars(graph.adjacency).items()}
    found |= {name: getattr(pairs, name) for name in ("rows", "middles", "edges", "relations", "sole_relations")}
    found |= {f"profile {name}": getattr(profiles, name) for name in ("offsets", "relations", "counts", "rarity")}
    found |= {"starts": profiles.edges.starts, "others": profiles.edges.entities}
    return found | {"degrees": graph.degrees}


def relations_of(graph):
    """Return how many triples each relation has, and their ends."""
    ends = [graph.ends_of(relation).tolist() for relation in range(graph.num_relations)]
    return graph.relation_counts().tolist(), ends


@given(TRIPLES)
def test_indexes_from_disk_are_those_in_memory(triples):
    graph = graph_of_ids(triples, NUM_ENTITIES, NUM_RELATIONS)
    expected, relations = indexes_of(graph), relations_of(graph)
    with everything_on_disk() as folder:
        for _ in ("built", "opened"):
            graph = graph_of_ids(triples, NUM_ENTITIES, NUM_RELATIONS)
            found = indexes_of(graph)
            assert relations_of(graph) == relations
            assert found.keys() == expected.keys()
            for name, column in found.items():
                assert column.dtype == expected[name].dtype
                assert column.tolist() == expected[name].tolist(), name
                assert not column.flags.writeable
        assert len(list_indexes()) == 4
        assert len(list(folder.iterdir())) == 1


def test_an_index_is_built_once(on_disk):
    built = []

    def build():
        built.append(1)
        return BLOCKS

    for _ in range(3):
        assert keep(lambda: "key", "numbers", 10, build)["ids"].tolist() == IDS
    assert built == [1]


def test_small_graphs_and_a_switch_leave_the_disk_alone(on_disk, monkeypatch):
    monkeypatch.setattr(index_files, "MIN_ROWS", 11)
    assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS
    monkeypatch.setenv("TRIPLESHOT_INDEXES", "0")
    assert keep(lambda: "key", "numbers", 11, lambda: BLOCKS)["ids"].tolist() == IDS
    assert not on_disk.exists()


def test_triples_added_for_one_question_are_not_kept(on_disk):
    graph = graph_of_ids([(0, 0, 1)], 3, 1)
    for other in (graph.with_triples([("e1", "r0", "e2")]), graph.without_triples([("e0", "r0", "e1")])):
        assert other.degrees.sum() == 2 * other.num_triples
    assert list_indexes() == []


def test_graphs_that_differ_in_one_triple_or_in_size_have_different_hashes():
    triples = [(0, 0, 1), (1, 1, 2)]
    graphs = [graph_of_ids(triples, 3, 2), graph_of_ids(triples, 4, 2), graph_of_ids(triples, 3, 3)]
    graphs += [graph_of_ids(triples[::-1], 3, 2), graph_of_ids([(0, 0, 1), (1, 1, 1)], 3, 2)]
    assert len({graph.triples_hash for graph in graphs}) == len(graphs)
    assert graphs[0].triples_hash == graph_of_ids(triples, 3, 2).triples_hash


@pytest.mark.parametrize("file", ["ids.bin", "shares.bin", "manifest.json"])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_a_flipped_byte_is_built_anew(on_disk, file, place):
    keep(lambda: "key", "numbers", 10, lambda: BLOCKS)
    flip_byte(on_disk / "key" / "numbers" / file, place)
    assert read_columns(on_disk / "key" / "numbers") is None
    assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS
    assert read_columns(on_disk / "key" / "numbers") is not None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"\xff", b'{"format": 1, "checksum": 0}'])
def test_a_foreign_manifest_is_built_anew(on_disk, content):
    keep(lambda: "key", "numbers", 10, lambda: BLOCKS)
    (on_disk / "key" / "numbers" / "manifest.json").write_bytes(content)
    assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS


def test_a_file_cut_short_or_missing_is_built_anew(on_disk):
    for damage in (lambda file: os.truncate(file, 4), Path.unlink):
        keep(lambda: "key", "numbers", 10, lambda: BLOCKS)
        damage(on_disk / "key" / "numbers" / "ids.bin")
        assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS


def test_a_copy_with_other_times_is_as_good_and_read_through_once(on_disk):
    keep(lambda: "key", "numbers", 10, lambda: BLOCKS)
    kept = on_disk / "key" / "numbers" / "ids.bin"
    changed = kept.stat().st_mtime_ns
    os.utime(kept, ns=(5, 5))
    assert read_columns(kept.parent) is not None
    assert kept.stat().st_mtime_ns == changed


def test_where_nothing_can_be_written_indexes_stay_in_memory_and_one_line_says_so(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(index_files, "MIN_ROWS", 0)
    for name in ("one", "two"):
        assert keep(lambda: "key", name, 10, lambda: BLOCKS)["ids"].tolist() == IDS
    assert [record.message.partition(":")[0] for record in caplog.records] == ["indexes stay in memory"]


def test_a_full_disk_leaves_nothing_behind(on_disk, monkeypatch, caplog):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS
    assert "No space left on device" in caplog.text
    assert list((on_disk / "key").iterdir()) == []


def test_blocks_of_different_types_are_a_mistake(on_disk):
    blocks = [{"ids": np.zeros(1, dtype=np.int32)}, {"ids": np.zeros(1, dtype=np.int64)}]
    with pytest.raises(ValueError, match="expected int32, found int64"):
        keep(lambda: "key", "numbers", 10, lambda: blocks)


def test_what_was_used_least_recently_is_dropped_first(on_disk):
    for place, name in enumerate(("old", "middle", "new")):
        open_or_build("key", name, lambda: (BLOCKS, {}))
        os.utime(on_disk / "key" / name / "manifest.json", (place, place))
    assert [index.path.name for index in list_indexes()] == ["new", "middle", "old"]
    size = list_indexes()[0].num_bytes
    drop_least_used(max_bytes=size * 5 // 2)
    assert [index.path.name for index in list_indexes()] == ["new", "middle"]
    drop_least_used(newest=on_disk / "key" / "middle", max_bytes=0)
    assert [index.path.name for index in list_indexes()] == ["middle"]
    drop_least_used(max_bytes=0)
    assert list_indexes() == []
    assert list(on_disk.iterdir()) == []


def test_a_process_keeps_what_it_has_mapped_when_it_is_dropped(on_disk):
    columns = keep(lambda: "key", "numbers", 10, lambda: BLOCKS)
    shutil.rmtree(on_disk)
    assert columns["ids"].tolist() == IDS


BUILDER = """
import sys, time
from pathlib import Path
import numpy as np
from tripleshot.graph import index_files
index_files.MIN_ROWS = 0
def build():
    with open(sys.argv[1], "a") as file:
        file.write("built\\n")
    yield {"ids": np.arange(1000)}
    time.sleep(float(sys.argv[2]))
    yield {"ids": np.arange(1000)}
print(index_files.keep(lambda: "key", "numbers", 1, build)["ids"].sum())
"""


def start_builder(journal: Path, seconds: float) -> subprocess.Popen:
    command = [sys.executable, "-c", BUILDER, str(journal), str(seconds)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_of_two_processes_one_builds_and_the_other_waits(on_disk, tmp_path):
    processes = [start_builder(tmp_path / "journal", 0.3) for _ in range(2)]
    assert [process.communicate()[0].split() for process in processes] == [[b"999000"]] * 2
    assert (tmp_path / "journal").read_text() == "built\n"


def test_a_killed_build_leaves_nothing_that_is_taken_for_an_index(on_disk, tmp_path):
    process = start_builder(tmp_path / "journal", 600)
    while not list(on_disk.glob("key/.numbers-*/ids.bin")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert read_columns(on_disk / "key" / "numbers") is None
    assert keep(lambda: "key", "numbers", 10, lambda: BLOCKS)["ids"].tolist() == IDS
    assert [path.name for path in (on_disk / "key").iterdir()] == ["numbers"]
