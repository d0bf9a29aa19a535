import multiprocessing
from dataclasses import replace
from functools import partial

import pyarrow.parquet as pq
import pytest

from tripleshot.answering.asking import Asking
from tripleshot.answering.manifest import MANIFEST
from tripleshot.answering.partitions import answer_in_partitions
from tripleshot.errors import InputError
from tripleshot.files.locks import lock_of
from tripleshot.workers.processes import run_in_processes

HEADS = [f"person {number}" for number in range(40)]
SIZE = 8


@pytest.fixture
def graph(tmp_path):
    rows = [(f"person {i}", "works at", f"company {i * 7 % 40}") for i in range(40)]
    rows += [(f"company {i}", "located in", f"city {i % 6}") for i in range(40)]
    path = tmp_path / "graph.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture
def asking(graph):
    examples = tuple((f"person {i}", f"city {i * 7 % 40 % 6}") for i in range(4))
    return Asking(str(graph), examples, k=3, method="evidence")


class Crew:
    """Does the work in this process; stops after some pieces if it is to."""

    def __init__(self, stops_after=None):
        self.stops_after, self.done = stops_after, []

    def __call__(self, work, pieces):
        do = work.open()
        for piece in pieces:
            if len(self.done) == self.stops_after:
                raise KeyboardInterrupt
            self.done.append(piece.number)
            yield do(piece)


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def answer(asking, folder, crew, heads=HEADS, partition_size=SIZE, progress=None):
    return answer_in_partitions(asking, heads, folder, crew, partition_size=partition_size, progress=progress)


def test_partitions_together_are_the_answers_of_one_process(asking, tmp_path):
    reports = []
    assert answer(asking, tmp_path / "answers", Crew(), progress=lambda *now: reports.append(now)) == 40
    expected = asking.open().predict(HEADS, examples=asking.examples, k=3).to_arrow()
    assert pq.read_table(tmp_path / "answers").equals(expected)
    assert reports == [(done, 40) for done in range(0, 41, 8)]


@pytest.mark.parametrize("method", ["evidence", None])
def test_two_processes_write_the_bytes_of_one(asking, tmp_path, method):
    asking = replace(asking, method=method)
    answer(asking, tmp_path / "one", Crew())
    answer(asking, tmp_path / "two", partial(run_in_processes, num_workers=2))
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_a_worker_that_is_killed_takes_nothing_with_it(asking, tmp_path):
    def kill(done, _):
        if done in (SIZE, 3 * SIZE):
            multiprocessing.active_children()[0].kill()

    answer(asking, tmp_path / "one", Crew())
    answer(asking, tmp_path / "two", partial(run_in_processes, num_workers=2), progress=kill)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_a_second_run_goes_on_where_the_first_one_stopped(asking, tmp_path):
    answer(asking, tmp_path / "whole", Crew())
    with pytest.raises(KeyboardInterrupt):
        answer(asking, tmp_path / "answers", Crew(stops_after=2))
    second, third, reports = Crew(), Crew(), []
    answer(asking, tmp_path / "answers", second, progress=lambda *now: reports.append(now))
    assert second.done == [2, 3, 4]
    assert reports[0] == (16, 40)
    assert files_in(tmp_path / "answers") == files_in(tmp_path / "whole")
    answer(asking, tmp_path / "answers", third)
    assert third.done == []


def test_what_is_damaged_is_answered_again(asking, tmp_path, caplog):
    folder = tmp_path / "answers"
    answer(asking, folder, Crew())
    whole = files_in(folder)
    (folder / "part-000001.parquet").unlink()
    (folder / "part-000003.parquet").write_bytes(whole["part-000003.parquet"][:-1])
    (folder / MANIFEST).write_bytes(whole[MANIFEST][:-9])
    (folder / ".part-000002.parquet-abcdefgh").mkdir()
    crew = Crew()
    answer(asking, folder, crew)
    assert crew.done == [1, 3, 4]
    assert files_in(folder) == whole
    assert caplog.text.count("it is answered again") == 2


def test_answers_to_another_question_are_not_mixed_in(asking, graph, tmp_path):
    folder = tmp_path / "answers"
    answer(asking, folder, Crew(stops_after=None))
    whole = files_in(folder)
    changed = tmp_path / "changed.tsv"
    changed.write_text(graph.read_text() + "person 1\tworks at\tcompany 2\n")
    others = {
        "another graph": {"asking": replace(asking, source=str(changed))},
        "other weights or settings of the method": {"asking": replace(asking, method="linked")},
        "other examples": {"asking": replace(asking, examples=asking.examples[:3])},
        "other options": {"asking": replace(asking, k=4)},
        "other entities are asked about": {"heads": HEADS[::-1]},
        "partitions of another size": {"partition_size": 9},
    }
    for difference, other in others.items():
        with pytest.raises(InputError, match=f"answers to another question: .*{difference}.*; choose another folder"):
            answer(**{"asking": asking, "folder": folder, "crew": Crew(), **other})
    assert files_in(folder) == whole


def test_a_folder_of_other_things_is_left_alone(asking, tmp_path):
    with pytest.raises(InputError, match="is not a folder of answers, and not empty"):
        answer(asking, tmp_path, Crew())
    folder = tmp_path / "answers"
    folder.mkdir()
    answer(asking, folder, Crew())
    (folder / MANIFEST).write_bytes(files_in(folder)[MANIFEST].replace(b'"k": 3', b'"k": 4'))
    with pytest.raises(InputError, match="not a readable manifest"):
        answer(asking, folder, Crew())


def test_one_run_at_a_time_writes_a_folder(asking, tmp_path):
    def crew(work, pieces):
        assert lock_of(tmp_path / "answers").exists()
        with pytest.raises(InputError, match="is writing it"):
            answer(asking, tmp_path / "answers", Crew())
        yield from Crew()(work, pieces)

    answer(asking, tmp_path / "answers", crew)
    assert not lock_of(tmp_path / "answers").exists()


def test_an_unknown_entity_is_named_before_anything_is_written(asking, tmp_path):
    with pytest.raises(InputError, match="unknown entity 'nobody'"):
        answer(asking, tmp_path / "answers", Crew(), heads=[*HEADS, "nobody"])
    assert not (tmp_path / "answers").exists()


def test_a_worker_that_finds_another_graph_refuses_to_answer(asking, graph, tmp_path):
    def crew(work, pieces):
        graph.write_text(graph.read_text() + "person 1\tworks at\tcompany 2\n")
        return Crew()(work, pieces)

    with pytest.raises(InputError, match=r"graph.tsv: a worker on .* finds another graph there"):
        answer(asking, tmp_path / "answers", crew)
