import errno
from pathlib import Path

import pytest

from tripleshot.atomic import cache_dir, new_folder, restored, write_file
from tripleshot.errors import TripleshotError


def test_a_file_is_replaced_whole(tmp_path):
    write_file(tmp_path / "deep" / "file", b"one")
    write_file(tmp_path / "deep" / "file", b"two")
    assert (tmp_path / "deep" / "file").read_bytes() == b"two"
    assert len(list((tmp_path / "deep").iterdir())) == 1


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path, monkeypatch):
    write_file(tmp_path / "file", b"old")

    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TripleshotError, match="file: cannot be written: No space left on device"):
        write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_appears_only_when_its_block_ends_well(tmp_path):
    def interrupted():
        with new_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    with new_folder(tmp_path / "out") as folder:
        (folder / "whole").write_text("x")
        assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["whole"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TripleshotError, match="cannot be written"):
        write_file(tmp_path / "file" / "below", b"x")
    with pytest.raises(TripleshotError, match="cannot be written"), new_folder(tmp_path / "file" / "below"):
        pass


def test_a_replacement_that_fails_puts_the_old_folder_back(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("x")
    rename = Path.rename

    def fails_for_the_new_one(self, target):
        if Path(target) == tmp_path / "home" and "old" not in self.name:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(TripleshotError, match="cannot be written"), new_folder(tmp_path / "home", overwrite=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert (tmp_path / "home" / "precious").read_text() == "x"


def test_the_cache_is_where_the_user_says_or_with_the_caches_of_other_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TRIPLESHOT_HOME", raising=False)
    assert cache_dir() == tmp_path / "tripleshot"
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"


def begin_and_fail(folder):
    assert not (folder / "log").exists()
    write_file(folder / "log", b"begun")
    write_file(folder / "data" / "part", b"begun")
    raise ValueError("failed")


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_folder_is_left_as_it_was_if_its_block_fails(tmp_path, is_kept):
    for folder in (tmp_path / "old", tmp_path / "new"):
        if folder.name == "old":
            write_file(folder / "log", b"before")
            write_file(folder / "notes", b"of somebody")
        with pytest.raises(ValueError, match="failed"), restored(folder, ("log", "data"), lambda _: is_kept):
            begin_and_fail(folder)
        assert (folder / "data").exists() == is_kept
    assert (tmp_path / "old" / "log").read_bytes() == (b"begun" if is_kept else b"before")
    assert (tmp_path / "old" / "notes").read_bytes() == b"of somebody"
    assert (tmp_path / "new").exists() == is_kept
    assert {path.name for path in tmp_path.iterdir()} <= {"old", "new"}


def test_what_a_block_writes_replaces_what_was_there_if_it_ends_well(tmp_path):
    write_file(tmp_path / "run" / "log", b"before")
    with restored(tmp_path / "run", ("log", "data"), lambda _: False):
        write_file(tmp_path / "run" / "data", b"done")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["data"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
