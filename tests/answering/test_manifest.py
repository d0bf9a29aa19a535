import json

import pytest

from tripleshot.answering.manifest import MANIFEST, Manifest, Partition
from tripleshot.errors import InputError
from tripleshot.files.checksums import hash_file

QUESTION = {"graph": "one"}


def differences(found, wanted):
    return "" if found == wanted else "another graph"


def finished(folder, number):
    path = folder / Partition.name_of(number)
    path.write_text(f"answers {number}")
    return Partition(number, 5, hash_file(path))


@pytest.fixture
def folder(tmp_path):
    manifest = Manifest.open(tmp_path / "answers", QUESTION, differences)
    for number in (2, 0):
        manifest.add(finished(tmp_path / "answers", number))
    return tmp_path / "answers"


def test_what_is_finished_is_found_again(folder):
    again = Manifest.open(folder, QUESTION, differences)
    assert sorted(again.finished) == [0, 2]
    again.write()
    rows = [json.loads(line) for line in (folder / MANIFEST).read_text().splitlines()]
    assert rows[0]["question"] == QUESTION
    assert [row["number"] for row in rows[1:]] == [0, 2]


def test_another_question_is_refused(folder):
    with pytest.raises(InputError, match="answers: has the answers to another question: another graph; choose another"):
        Manifest.open(folder, {"graph": "two"}, differences)


@pytest.mark.parametrize("end", [b'{"number": 1, "num_', b'{"number": "1", "num_asked": 5, "sha256": "x"}\n', b"[]\n"])
def test_a_line_that_was_not_written_whole_is_left_out(folder, end):
    with (folder / MANIFEST).open("ab") as file:
        file.write(end)
    manifest = Manifest.open(folder, QUESTION, differences)
    manifest.add(finished(folder, 1))
    assert sorted(Manifest.open(folder, QUESTION, differences).finished) == [0, 1, 2]


@pytest.mark.parametrize("header", [b"", b"{}", b"[1]", b"\xff", b'{"format": 1, "question": {"graph": "one"}}'])
def test_a_manifest_without_its_first_line_is_refused(folder, header):
    (folder / MANIFEST).write_bytes(header)
    with pytest.raises(InputError, match="not a readable manifest"):
        Manifest.open(folder, QUESTION, differences)


def test_files_that_are_not_what_was_written_are_not_finished(folder, caplog):
    (folder / Partition.name_of(0)).write_text("answers 1")
    assert sorted(Manifest.open(folder, QUESTION, differences).finished) == [2]
    assert "part-000000.parquet: missing or changed since it was written; it is answered again" in caplog.text


def test_what_dead_workers_left_is_removed(folder):
    (folder / ".part-000001.parquet-abcdefgh").mkdir()
    Manifest.open(folder, QUESTION, differences).remove_abandoned()
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
