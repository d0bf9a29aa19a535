import errno
import io
import os
import threading
from pathlib import Path

import pytest

from downloads import FILES, Page, beside, contents, inside, tar, tiny_remote, write
from tripleshot.datasets.download import fetch
from tripleshot.errors import FetchError


class FullDisk(io.BytesIO):
    def write(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_good_destination_needs_no_network(home):
    write(home)
    before = (home / "path_graph").stat()
    assert fetch(tiny_remote("http://127.0.0.1:9/tiny"), home) == home
    assert (home / "path_graph").stat().st_ino == before.st_ino


def test_a_broken_destination_is_named_and_replaced(server, home, caplog):
    write(home, FILES | {"path_graph": b"half", "left over": b""})
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/tiny")), home)
    assert contents(home) == FILES
    assert beside(home) == []
    assert "is broken and will be replaced: path_graph has SHA-256" in caplog.text


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_a_killed_process_has_left_beside_a_dataset_is_removed(server, home, is_whole):
    write(home, FILES if is_whole else {"path_graph": b"half"})
    write(home.parent / f".{home.name}-ab12cd34", {"new/path_graph": b"half"})
    write(home.parent, {f"{home.name}.part.json": b"{}", f"{home.name}.ent2ids.part": b"half"})
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/tiny")), home)
    assert contents(home) == FILES
    assert beside(home) == []


def test_a_linked_destination_is_replaced_where_it_really_is(tmp_path, home, server):
    home.parent.mkdir()
    home.symlink_to(tmp_path / "large disk", target_is_directory=True)
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/tiny")), home)
    assert home.is_symlink()
    assert contents(tmp_path / "large disk") == FILES


def test_a_failed_swap_puts_the_old_folder_back(server, home, monkeypatch):
    write(home, old := {"path_graph": b"old"})
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    rename = Path.rename

    def fail_on_arrival(self, target):
        if target == home and self.name != f".{home.name}.replaced":
            raise OSError(errno.EIO, "the disk is gone")
        return rename(self, target)

    def no_library(*names, **options):
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", no_library)  # a system that cannot exchange two folders in one step
    monkeypatch.setattr(Path, "rename", fail_on_arrival)
    with pytest.raises(FetchError, match="the disk is gone"):
        fetch(tiny_remote(server.url("/tiny")), home)
    assert contents(home) == old
    assert beside(home) == ["tiny.part", "tiny.part.json"]


def test_a_file_in_the_place_of_the_destination_is_left_alone(tmp_path, home):
    home.parent.mkdir()
    home.write_text("mine")
    with pytest.raises(FetchError, match="not a folder"):
        fetch(tiny_remote(), home, str(write(tmp_path / "copy")))
    assert home.read_text() == "mine"


def test_an_impossible_parent_is_a_fetch_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="could not be put into"):
        fetch(tiny_remote(), tmp_path / "file" / "tiny", str(write(tmp_path / "copy")))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_parent_is_a_fetch_error(tmp_path, home):
    write(tmp_path / "copy")
    home.parent.mkdir()
    home.parent.chmod(0o500)
    with pytest.raises(FetchError, match="could not be put into"):
        fetch(tiny_remote(), home, str(tmp_path / "copy"))


@pytest.mark.parametrize("full", ["tiny.part", "path_graph"], ids=["downloading", "unpacking"])
def test_a_full_disk_is_a_fetch_error(server, home, monkeypatch, full):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    opened = Path.open

    def open_until_full(self, mode="r", **options):
        return FullDisk() if self.name == full and mode == "wb" else opened(self, mode, **options)

    monkeypatch.setattr(Path, "open", open_until_full)
    with pytest.raises(FetchError, match="No space left on device"):
        fetch(tiny_remote(server.url("/tiny"), server.url("/other")), home)
    assert not home.exists()
    assert not [name for name in beside(home) if not name.startswith("tiny.part")]
    assert len(server.requests) == 1


def test_an_interrupt_leaves_only_what_can_be_resumed(server, home, monkeypatch):
    server.pages["/tiny"] = Page(tar(inside("tiny")))

    def interrupt(archive: Path, folder: Path):
        folder.mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tripleshot.datasets.download.sources.unpack", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch(tiny_remote(server.url("/tiny")), home)
    assert beside(home) == ["tiny.part", "tiny.part.json"]
    sent = server.sent_bytes
    fetch(tiny_remote(server.url("/tiny")), home)
    assert server.sent_bytes == sent


def test_two_at_once_download_once(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    errors = []

    def run():
        try:
            fetch(tiny_remote(server.url("/tiny")), home)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert contents(home) == FILES
    assert beside(home) == []
    assert len(server.requests) == 1


def test_without_a_display_of_progress_nothing_is_printed(server, home, capsys):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/tiny")), home)
    assert capsys.readouterr() == ("", "")
