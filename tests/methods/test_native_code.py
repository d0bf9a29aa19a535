import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tripleshot.methods import native_code
from tripleshot.methods.native_code import load_library, private_folder

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, native_code.COMPILERS)) or not hasattr(os, "geteuid"), reason="no C compiler, or Windows"
)
SOURCE = ("tripleshot.methods.rscl.native", "attention")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIPLESHOT_HOME", str(home))
        assert load_library(*SOURCE) is not None
    return home / "native"


@pytest.fixture
def folder(compiled, tmp_path, monkeypatch):
    """Where compiled code is kept, once it was made."""
    monkeypatch.setenv("TRIPLESHOT_HOME", str(tmp_path / "home"))
    return Path(shutil.copytree(compiled, tmp_path / "home" / "native"))


def mode_of(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def plant(folder, mode: int) -> None:
    """Put another library in the place of the one that is there, as someone would who can write there."""
    (kept,) = folder.glob("*.so")
    (folder / "planted.c").write_text("int planted(void) { return 1; }")
    subprocess.run(["cc", "-shared", "-fPIC", str(folder / "planted.c"), "-o", str(folder / "planted")], check=True)
    digest = hashlib.sha256((folder / "planted").read_bytes()).hexdigest()[:20]
    name = kept.name.rpartition("-")[0]
    kept.unlink()
    (folder / "planted").rename(folder / f"{name}-{digest}.so")
    (folder / f"{name}-{digest}.so").chmod(mode)


def test_compiled_code_and_its_folder_are_private(compiled):
    (kept,) = compiled.iterdir()
    assert (mode_of(compiled), mode_of(kept)) == (0o700, 0o600)


def test_a_library_that_others_can_write_to_is_not_loaded(folder):
    plant(folder, 0o666)
    assert not hasattr(load_library(*SOURCE), "planted")
    assert any(mode_of(path) == 0o600 for path in folder.glob("*.so"))


def test_a_library_of_somebody_else_is_not_loaded(folder, monkeypatch):
    plant(folder, 0o600)
    assert hasattr(load_library(*SOURCE), "planted")  # one's own is
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not hasattr(load_library(*SOURCE), "planted")


def test_a_folder_of_somebody_else_is_left_alone_with_a_warning(folder, monkeypatch, caplog):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert load_library(*SOURCE) is not None
    assert "native: not a folder of your own; what is compiled is not kept" in caplog.text
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_link_is_no_private_folder(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with private_folder(tmp_path / "link") as found:
        assert found is None


def test_a_folder_that_was_open_to_others_is_closed(folder):
    folder.chmod(0o777)
    assert load_library(*SOURCE) is not None
    assert mode_of(folder) == 0o700


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="folders cannot be held by their descriptor here")
def test_a_folder_that_is_replaced_while_it_is_used_is_not_looked_into(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own").touch()
    with private_folder(tmp_path / "mine") as found:
        (tmp_path / "mine").rename(tmp_path / "away")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "planted").touch()
        assert found is not None
        assert [path.name for path in found.iterdir()] == ["own"]
