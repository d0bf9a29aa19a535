import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tripleshot.errors import TripleshotError
from tripleshot.files.atomic import cache_dir, new_folder, recover, restored, write_file

DIES_BETWEEN_TWO_RENAMES = """
import ctypes, os, sys
from pathlib import Path
from tripleshot.files.atomic import new_folder

def no_library(*names, **options):
    raise OSError

def dies_with_the_second(self, target, rename=Path.rename):
    if self.name.startswith(".home-"):
        os._exit(9)
    return rename(self, target)

ctypes.CDLL, Path.rename = no_library, dies_with_the_second
with new_folder(Path(sys.argv[1]), overwrite=True) as folder:
    (folder / "newer").touch()
"""


@pytest.fixture
def cannot_exchange(monkeypatch):
    """A system that cannot exchange two folders in one step."""

    def no_library(*names, **options):
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", no_library)


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


@pytest.mark.usefixtures("cannot_exchange")
def test_a_replacement_that_fails_puts_the_old_folder_back(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("x")
    rename = Path.rename

    def fails_for_the_new_one(self, target):
        if self.name.startswith(".home-"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(TripleshotError, match="cannot be written"), new_folder(tmp_path / "home", overwrite=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert (tmp_path / "home" / "precious").read_text() == "x"


def replace_folder(home, name):
    with new_folder(home, overwrite=True) as folder:
        (folder / name).touch()


@pytest.mark.parametrize("system", ["this", "cannot_exchange"])
def test_a_folder_is_replaced_whole_and_nothing_else_is_left(tmp_path, request, system):
    if system != "this":
        request.getfixturevalue(system)
    for name in ("old", "new"):
        replace_folder(tmp_path / "home", name)
        assert [path.name for path in (tmp_path / "home").iterdir()] == [name]
        assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two folders in one step")
def test_a_folder_that_is_being_replaced_is_there_at_every_moment(tmp_path):
    home, is_over, missing = tmp_path / "home", threading.Event(), []
    replace_folder(home, "first")

    def watch():
        while not is_over.is_set():
            try:
                list(home.iterdir())
            except FileNotFoundError:
                missing.append(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(30):
        replace_folder(home, "next")
    is_over.set()
    watcher.join()
    assert not missing


@pytest.mark.parametrize("does_next", ["read", "write"])
def test_a_process_that_dies_between_two_renames_loses_nothing(tmp_path, does_next):
    home = tmp_path / "home"
    replace_folder(home, "precious")
    died = subprocess.run([sys.executable, "-c", DIES_BETWEEN_TWO_RENAMES, str(home)], check=False)
    assert died.returncode == 9
    assert not home.exists()
    if does_next == "read":
        recover(home)
        assert [path.name for path in home.iterdir()] == ["precious"]
    else:
        with pytest.raises(TripleshotError, match="exists already"), new_folder(home):
            pass
    replace_folder(home, "newest")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_what_a_killed_process_left_of_its_writing_goes_with_the_next_one(tmp_path):
    (tmp_path / ".home-a1b2c3d4").mkdir()
    (tmp_path / ".home-2-a1b2c3d4").mkdir()
    replace_folder(tmp_path / "home", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"home", ".home-2-a1b2c3d4"}


def test_what_is_put_in_place_is_on_the_disk_before(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    write_file(tmp_path / "file", b"x")
    replace_folder(tmp_path / "home", "inside")
    for path in (tmp_path, tmp_path / "file", tmp_path / "home", tmp_path / "home" / "inside"):
        assert path.stat().st_ino in flushed


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
