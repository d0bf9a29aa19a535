import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tripleshot.errors import InputError
from tripleshot.files.locks import file_lock, folder_lock

HOLDER = """
import os, sys
from pathlib import Path
from tripleshot.files.locks import folder_lock

with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
    os._exit(9)
"""


@contextmanager
def another_process_writes(folder):
    """Give a process that holds the lock of a folder, and dies at the end without giving it back."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.communicate()


def test_who_writes_a_folder_that_another_process_writes_is_told_which(tmp_path):
    folder = tmp_path / "deep" / "run"
    with (
        another_process_writes(folder) as process,
        pytest.raises(InputError, match=rf"deep/run: process {process.pid} on .* is writing it"),
        folder_lock(folder),
    ):
        pass


def test_the_lock_of_a_process_that_died_holds_up_nobody(tmp_path):
    folder = tmp_path / "run"
    with another_process_writes(folder):
        pass
    assert list(tmp_path.iterdir())
    with folder_lock(folder), file_lock(tmp_path / "other"):
        pass
    assert not list(tmp_path.iterdir())


def test_two_names_of_a_folder_have_one_lock(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    told = pytest.raises(InputError, match=f"process {os.getpid()}")
    with folder_lock(tmp_path / "run"), told, folder_lock(tmp_path / "link"):
        pass


def test_where_no_lock_can_be_made_the_folder_is_written_without_one(tmp_path):
    (tmp_path / "file").touch()
    with folder_lock(tmp_path / "file" / "run"):
        pass


def test_folders_that_were_made_for_a_lock_go_if_nothing_was_written(tmp_path):
    with folder_lock(tmp_path / "a" / "b" / "run"):
        assert (tmp_path / "a" / "b").exists()
    assert not (tmp_path / "a").exists()
    with folder_lock(tmp_path / "a" / "run"):
        (tmp_path / "a" / "run").mkdir()
    assert (tmp_path / "a" / "run").exists()
