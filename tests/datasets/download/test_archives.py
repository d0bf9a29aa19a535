import bz2
import gzip
import lzma
import stat
import tarfile

import pytest

from downloads import FILES, Page, beside, contents, inside, sha256, tar, tiny_remote, zipped
from tripleshot.datasets.download import archives, fetch
from tripleshot.errors import FetchError


def link(kind: bytes, name: str = "link", target: str = "path_graph") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


@pytest.mark.parametrize(
    "archive",
    [
        gzip.compress(tar(inside("tiny"))),
        lzma.compress(tar(inside("./deep/down"))),
        bz2.compress(tar(FILES)),
        tar(inside("tiny")),
        zipped(inside("tiny")),
        zipped(inside("x"), mode=0),
    ],
    ids=["tar.gz", "tar.xz", "tar.bz2 without a folder", "tar", "zip", "zip without modes"],
)
def test_an_archive_arrives_whole_with_its_unlisted_files(server, home, archive):
    server.pages["/tiny"] = Page(archive)
    assert fetch(tiny_remote(server.url("/tiny"), archive_sha256=sha256(archive)), home) == home
    assert contents(home) == FILES
    assert beside(home) == []


@pytest.mark.parametrize(
    "archive",
    [
        tar({"../evil": b""} | FILES),
        tar({"/tmp/evil": b""} | FILES),
        tar({"a/../../evil": b""} | FILES),
        tar(FILES, link(tarfile.SYMTYPE)),
        tar(FILES, link(tarfile.SYMTYPE, target="/etc/passwd")),
        tar(FILES, link(tarfile.LNKTYPE)),
        tar(FILES, link(tarfile.FIFOTYPE)),
        tar(FILES, link(tarfile.CHRTYPE)),
        zipped({"../evil": b""} | FILES),
        zipped({"/tmp/evil": b""} | FILES),
        zipped({"..\\evil": b""} | FILES),
        zipped({"C:\\evil": b""} | FILES),
        zipped(FILES, mode=stat.S_IFLNK | 0o777),
    ],
)
def test_members_that_lead_outside_and_links_are_rejected(tmp_path, home, archive):
    (tmp_path / "archive").write_bytes(archive)
    with pytest.raises(FetchError, match=r"leads outside|only plain files"):
        fetch(tiny_remote(), home, str(tmp_path / "archive"))
    assert beside(home) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "data"]


@pytest.mark.parametrize("limit", ["MAX_UNPACKED_BYTES", "MAX_UNPACKED_FILES"])
@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_that_unpacks_to_too_much_is_rejected(tmp_path, home, monkeypatch, limit, pack):
    monkeypatch.setattr(archives, limit, 2)
    (tmp_path / "bomb").write_bytes(pack(FILES))
    with pytest.raises(FetchError, match="unpacks to more than"):
        fetch(tiny_remote(), home, str(tmp_path / "bomb"))


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress, None])
def test_a_damaged_archive_is_never_another_error(tmp_path, home, compress):
    files = {name: content[:2000] for name, content in FILES.items()}
    archive = zipped(files) if compress is None else compress(tar(files))
    for position in range(0, len(archive), max(1, len(archive) // 40)):
        damaged = bytearray(archive)
        damaged[position] ^= 0xFF
        for rest in (damaged, archive[:position]):
            (tmp_path / "damaged").write_bytes(rest)
            with pytest.raises(FetchError):
                fetch(tiny_remote(), home, str(tmp_path / "damaged"))


@pytest.mark.parametrize("names", [("path_graph", "path_graph/x"), ("x/" + "n" * 300,), ("x/y", "x")])
def test_names_that_no_disk_takes_are_the_archives_fault(server, home, names):
    server.pages["/tiny"] = Page(tar(dict.fromkeys(names, b"")))
    with pytest.raises(FetchError, match="the archive is damaged"):
        fetch(tiny_remote(server.url("/tiny")), home)
    assert beside(home) == []
