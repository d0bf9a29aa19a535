import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console
from rich.progress import Progress

from tripleshot.datasets.download import RemoteDataset, archives, fetch, hash_file
from tripleshot.errors import FetchError, InputError

FILES = {"path_graph": b"a\tr\tb\n" * 40_000, "ent2ids": b'{"a": 0, "b": 1}', "notes/card": b"extra"}
LISTED = ("path_graph", "ent2ids")


@dataclass
class Page:
    """What the server has at one path, and how badly it behaves there."""

    content: bytes
    etag: str | None = '"one"'
    ranges: bool = True
    respects_if_range: bool = True
    chunked: bool = False
    statuses: list[int] = field(default_factory=list)  # answered first, one per request
    stops: list[int] = field(default_factory=list)  # bytes after which the connection drops, one per request
    location: str = ""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.sent_bytes = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def ranges(self) -> list[str | None]:
        return [wanted for _, wanted in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        server = cast(Server, self.server)
        server.requests.append((self.path, self.headers["Range"]))
        self.close_connection = True
        page = server.pages.get(self.path)
        status = 404 if page is None else page.statuses.pop(0) if page.statuses else 200
        if page is None or status != 200:
            self.answer(status, b"", {"Location": page.location} if page else {})
            return
        headers = {"ETag": page.etag} if page.etag else {}
        begin = self.range_begin(page)
        if begin > 0 and begin >= len(page.content):
            self.answer(416, b"", {"Content-Range": f"bytes */{len(page.content)}"})
        elif begin > 0:
            headers["Content-Range"] = f"bytes {begin}-{len(page.content) - 1}/{len(page.content)}"
            self.answer(206, page.content[begin:], headers, page)
        else:
            self.answer(200, page.content, headers, page)

    def range_begin(self, page: Page) -> int:
        wanted = self.headers["Range"]
        if wanted is None or not page.ranges:
            return 0
        if page.respects_if_range and self.headers["If-Range"] != page.etag:
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    def answer(self, status: int, body: bytes, headers: dict[str, str], page: Page | None = None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        chunked = page is not None and page.chunked
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(body)))))
        self.end_headers()
        sent = body[: page.stops.pop(0)] if page is not None and page.stops else body
        end = b"\r\n0\r\n\r\n" if sent == body else b""
        self.wfile.write(b"%x\r\n%s%s" % (len(body), sent, end) if chunked else sent)
        cast(Server, self.server).sent_bytes += len(sent)


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "data" / "tiny"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tiny(*urls: str, archive_sha256: str | None = None) -> RemoteDataset:
    files = {name: sha256(FILES[name]) for name in LISTED}
    return RemoteDataset("tiny", urls, files, archive_sha256=archive_sha256)


def tar(files: dict[str, bytes], *odd: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in odd:
            archive.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def zipped(files: dict[str, bytes], mode: int = stat.S_IFREG | 0o644) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def inside(folder: str) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in FILES.items()}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def beside(home: Path) -> list[str]:
    """Everything next to the dataset's folder, hidden or not."""
    return sorted(path.name for path in home.parent.iterdir() if path != home)


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
    assert fetch(tiny(server.url("/tiny"), archive_sha256=sha256(archive)), home) == home
    assert contents(home) == FILES
    assert beside(home) == []


def test_a_folder_url_gives_the_listed_files(server, home):
    for name in LISTED:
        server.pages[f"/raw/{name}"] = Page(FILES[name])
    fetch(tiny(), home, server.url("/raw/"))
    assert contents(home) == {name: FILES[name] for name in LISTED}
    assert beside(home) == []


def test_the_shallowest_folder_with_the_marker_is_the_dataset(server, home):
    server.pages["/tiny"] = Page(tar({"a/b/path_graph": b"wrong"} | inside("z")))
    fetch(tiny(server.url("/tiny")), home)
    assert contents(home) == FILES


def test_a_redirect_is_followed(server, home):
    server.pages["/old"] = Page(b"", statuses=[302], location="/new")
    server.pages["/new"] = Page(tar(inside("tiny")))
    fetch(tiny(server.url("/old")), home)
    assert contents(home) == FILES


def test_a_redirect_to_another_scheme_is_not_followed(server, home):
    server.pages["/old"] = Page(b"", statuses=[302], location="ftp://127.0.0.1/tiny")
    with pytest.raises(FetchError, match="ftp"):
        fetch(tiny(server.url("/old")), home, attempts=1)


def test_a_broken_connection_is_resumed_with_the_rest_only(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, stops=[100_000, 50_000])
    fetch(tiny(server.url("/tiny")), home, wait=0)
    assert server.ranges() == [None, "bytes=100000-", "bytes=150000-"]
    assert server.sent_bytes == len(archive)
    assert contents(home) == FILES


def test_the_next_run_resumes_what_the_last_one_left(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, stops=[100_000])
    with pytest.raises(FetchError, match=r"100,000 bytes arrived; running the command again resumes"):
        fetch(tiny(server.url("/tiny")), home, attempts=1)
    assert beside(home) == ["tiny.part", "tiny.part.json"]
    fetch(tiny(server.url("/tiny")), home, attempts=1)
    assert server.ranges() == [None, "bytes=100000-"]
    assert contents(home) == FILES
    assert beside(home) == []


def test_a_file_of_a_folder_url_is_resumed_too(server, home):
    for name in LISTED:
        server.pages[f"/raw/{name}"] = Page(FILES[name])
    server.pages["/raw/ent2ids"].statuses = [403]
    with pytest.raises(FetchError, match="403"):
        fetch(tiny(server.url("/raw/")), home)
    fetch(tiny(server.url("/raw/")), home)
    assert server.requests[2] == ("/raw/path_graph", f"bytes={len(FILES['path_graph'])}-")  # answered with 416
    assert server.sent_bytes == sum(len(FILES[name]) for name in LISTED)
    assert contents(home) == {name: FILES[name] for name in LISTED}


def test_half_a_file_is_asked_for_again_and_then_reported(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, ranges=False, stops=[len(archive) // 2] * 3)
    with pytest.raises(FetchError, match=f"closed before all of {len(archive):,} bytes had come"):
        fetch(tiny(server.url("/tiny")), home, attempts=3, wait=0)
    assert len(server.requests) == 3
    assert not home.exists()


def test_a_broken_chunked_answer_is_tried_again(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")), chunked=True, stops=[100_000])
    fetch(tiny(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


@pytest.mark.parametrize("etag", ['"one"', None, 'W/"weak"'])
def test_a_server_that_cannot_resume_starts_over(server, home, etag):
    server.pages["/tiny"] = Page(tar(inside("tiny")), ranges=False, etag=etag, stops=[100_000])
    fetch(tiny(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


@pytest.mark.parametrize("respects_if_range", [True, False])
def test_a_changed_file_starts_over(server, home, respects_if_range):
    server.pages["/tiny"] = Page(b"x" * 300_000, stops=[100_000])
    with pytest.raises(FetchError):
        fetch(tiny(server.url("/tiny")), home, attempts=1)
    server.pages["/tiny"] = Page(tar(inside("tiny")), etag='"two"', respects_if_range=respects_if_range)
    fetch(tiny(server.url("/tiny")), home, attempts=2, wait=0)
    assert contents(home) == FILES


def test_a_file_that_shrank_starts_over(server, home):
    server.pages["/tiny"] = Page(b"x" * 900_000, stops=[800_000])
    with pytest.raises(FetchError):
        fetch(tiny(server.url("/tiny")), home, attempts=1)
    server.pages["/tiny"] = Page(tar(inside("tiny")), respects_if_range=False)
    fetch(tiny(server.url("/tiny")), home, attempts=2, wait=0)
    assert contents(home) == FILES


def test_an_unreadable_note_starts_over(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    home.parent.mkdir()
    (home.parent / "tiny.part").write_bytes(b"x" * 10)
    (home.parent / "tiny.part.json").write_text("[1")
    fetch(tiny(server.url("/tiny")), home)
    assert server.ranges() == [None]


def test_a_passing_server_error_is_tried_again(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")), statuses=[500, 503])
    fetch(tiny(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


def test_the_wait_grows(server, home, monkeypatch):
    waits = []
    monkeypatch.setattr("tripleshot.datasets.download.http.time.sleep", waits.append)
    server.pages["/tiny"] = Page(b"", statuses=[500] * 4)
    with pytest.raises(FetchError, match="500"):
        fetch(tiny(server.url("/tiny")), home, attempts=4, wait=0.5)
    assert waits == [0.5, 1.0, 2.0]


def test_refusals_are_listed_with_a_hint_and_not_tried_again(server, home):
    server.pages["/one"] = Page(b"", statuses=[403])
    with pytest.raises(FetchError) as caught:
        fetch(tiny(server.url("/one"), server.url("/two")), home)
    text = str(caught.value)
    assert f"{server.url('/one')} answered 403" in text
    assert f"{server.url('/two')} answered 404" in text
    assert "--from FOLDER, ARCHIVE or URL" in text
    assert len(server.requests) == 2
    assert beside(home) == []


def test_the_next_address_is_tried_when_one_has_rubbish(server, home):
    server.pages["/one"] = Page(b"<html>Sign in</html>", etag=None)
    server.pages["/two"] = Page(tar(inside("tiny")))
    fetch(tiny(server.url("/one"), server.url("/two")), home)
    assert contents(home) == FILES


def test_no_server_is_a_fetch_error(server, home):
    with pytest.raises(FetchError, match="refused"):
        fetch(tiny("http://127.0.0.1:9/tiny"), home, attempts=2, wait=0)


@pytest.mark.parametrize("url", ["http://127.0.0.1:port/", "http://127.0.0.1/a b", "http://ex\xe4mple..invalid/é"])
def test_an_unusable_url_is_a_fetch_error(server, home, url):
    with pytest.raises(FetchError):
        fetch(tiny(), home, url, attempts=1)


def test_no_known_address_asks_for_one(home):
    with pytest.raises(FetchError, match=r"no address is known.*--from"):
        fetch(tiny(), home)


def test_a_wrong_archive_hash_names_both_and_removes_the_download(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive)
    with pytest.raises(FetchError) as caught:
        fetch(tiny(server.url("/tiny"), archive_sha256="0" * 64), home)
    assert sha256(archive) in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert not home.exists()
    assert beside(home) == []


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_wrong_file_hash_names_the_file_and_removes_the_download(server, home, as_folder):
    write(home, old := {"path_graph": b"old"})
    bad = FILES | {"ent2ids": b"bad"}
    server.pages["/tiny"] = Page(tar(bad))
    server.pages |= {f"/raw/{name}": Page(content) for name, content in bad.items()}
    with pytest.raises(FetchError) as caught:
        fetch(tiny(server.url("/raw/" if as_folder else "/tiny")), home)
    assert f"ent2ids has SHA-256 {sha256(b'bad')}, expected {sha256(FILES['ent2ids'])}" in str(caught.value)
    assert contents(home) == old
    assert "tiny.part" not in beside(home)
    assert "tiny.ent2ids.part" not in beside(home)


def test_from_a_local_folder(tmp_path, home):
    fetch(tiny(), home, str(write(tmp_path / "copies" / "deep").parent))
    assert contents(home) == FILES


def test_from_a_local_folder_that_holds_the_destination(tmp_path):
    write(tmp_path)
    fetch(tiny(), tmp_path / "tiny", str(tmp_path))
    assert contents(tmp_path / "tiny").items() >= FILES.items()


def test_links_to_files_in_a_local_folder_are_copied_as_files(tmp_path, home):
    store = write(tmp_path / "store")
    (tmp_path / "links").mkdir()
    for name in LISTED:
        (tmp_path / "links" / name).symlink_to(store / name)
    fetch(tiny(), home, str(tmp_path / "links"))
    assert contents(home) == {name: FILES[name] for name in LISTED}
    assert not (home / "path_graph").is_symlink()


@pytest.mark.parametrize("as_url", [True, False])
def test_from_a_local_archive(tmp_path, home, as_url):
    archive = tmp_path / "copy of tiny.tgz"
    archive.write_bytes(gzip.compress(tar(inside("other name"))))
    fetch(tiny(archive_sha256="0" * 64), home, archive.as_uri() if as_url else str(archive))
    assert contents(home) == FILES
    assert archive.exists()


def test_a_bad_local_archive_is_named_and_kept(tmp_path, home):
    archive = tmp_path / "tiny.tar.gz"
    archive.write_bytes(gzip.compress(tar(FILES))[:-200])
    with pytest.raises(FetchError, match=r"tiny\.tar\.gz: the archive is damaged"):
        fetch(tiny(), home, str(archive))
    assert archive.exists()
    assert beside(home) == []


@pytest.mark.parametrize("source", ["ftp://host/x", "nowhere", "file:///nowhere", "http://[", "s3://x/y", "http:///x"])
def test_a_source_that_cannot_be_is_an_input_error(home, source):
    with pytest.raises(InputError, match=r"nowhere|address"):
        fetch(tiny(), home, source)


def link(kind: bytes, name: str = "link", target: str = "path_graph") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


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
        fetch(tiny(), home, str(tmp_path / "archive"))
    assert beside(home) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "data"]


@pytest.mark.parametrize("limit", ["MAX_UNPACKED_BYTES", "MAX_UNPACKED_FILES"])
@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_that_unpacks_to_too_much_is_rejected(tmp_path, home, monkeypatch, limit, pack):
    monkeypatch.setattr(archives, limit, 2)
    (tmp_path / "bomb").write_bytes(pack(FILES))
    with pytest.raises(FetchError, match="unpacks to more than"):
        fetch(tiny(), home, str(tmp_path / "bomb"))


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
                fetch(tiny(), home, str(tmp_path / "damaged"))


@pytest.mark.parametrize("names", [("path_graph", "path_graph/x"), ("x/" + "n" * 300,), ("x/y", "x")])
def test_names_that_no_disk_takes_are_the_archives_fault(server, home, names):
    server.pages["/tiny"] = Page(tar(dict.fromkeys(names, b"")))
    with pytest.raises(FetchError, match="the archive is damaged"):
        fetch(tiny(server.url("/tiny")), home)
    assert beside(home) == []


def test_without_the_marker_the_error_names_it(server, home):
    server.pages["/tiny"] = Page(tar({"tiny/ent2ids": b"{}"}))
    with pytest.raises(FetchError, match="no folder in it holds the file path_graph"):
        fetch(tiny(server.url("/tiny")), home)
    assert beside(home) == []


def test_a_good_destination_needs_no_network(home):
    write(home)
    before = (home / "path_graph").stat()
    assert fetch(tiny("http://127.0.0.1:9/tiny"), home) == home
    assert (home / "path_graph").stat().st_ino == before.st_ino


def test_a_broken_destination_is_named_and_replaced(server, home, caplog):
    write(home, FILES | {"path_graph": b"half", "left over": b""})
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny(server.url("/tiny")), home)
    assert contents(home) == FILES
    assert beside(home) == []
    assert "is broken and will be replaced: path_graph has SHA-256" in caplog.text


def test_a_linked_destination_is_replaced_where_it_really_is(tmp_path, home, server):
    home.parent.mkdir()
    home.symlink_to(tmp_path / "large disk", target_is_directory=True)
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny(server.url("/tiny")), home)
    assert home.is_symlink()
    assert contents(tmp_path / "large disk") == FILES


def test_a_failed_swap_puts_the_old_folder_back(server, home, monkeypatch):
    write(home, old := {"path_graph": b"old"})
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    rename = Path.rename

    def fail_on_arrival(self, target):
        if target == home and self.name != "old":
            raise OSError(errno.EIO, "the disk is gone")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_on_arrival)
    with pytest.raises(FetchError, match="the disk is gone"):
        fetch(tiny(server.url("/tiny")), home)
    assert contents(home) == old
    assert beside(home) == ["tiny.part", "tiny.part.json"]


def test_a_file_in_the_place_of_the_destination_is_left_alone(tmp_path, home):
    home.parent.mkdir()
    home.write_text("mine")
    with pytest.raises(FetchError, match="not a folder"):
        fetch(tiny(), home, str(write(tmp_path / "copy")))
    assert home.read_text() == "mine"


def test_an_impossible_parent_is_a_fetch_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="could not be put into"):
        fetch(tiny(), tmp_path / "file" / "tiny", str(write(tmp_path / "copy")))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_parent_is_a_fetch_error(tmp_path, home):
    write(tmp_path / "copy")
    home.parent.mkdir()
    home.parent.chmod(0o500)
    with pytest.raises(FetchError, match="could not be put into"):
        fetch(tiny(), home, str(tmp_path / "copy"))


class FullDisk(io.BytesIO):
    def write(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("full", ["tiny.part", "path_graph"], ids=["downloading", "unpacking"])
def test_a_full_disk_is_a_fetch_error(server, home, monkeypatch, full):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    opened = Path.open

    def open_until_full(self, mode="r", **options):
        return FullDisk() if self.name == full and mode == "wb" else opened(self, mode, **options)

    monkeypatch.setattr(Path, "open", open_until_full)
    with pytest.raises(FetchError, match="No space left on device"):
        fetch(tiny(server.url("/tiny"), server.url("/other")), home)
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
            fetch(tiny(server.url("/tiny")), home)
    assert beside(home) == ["tiny.part", "tiny.part.json"]
    sent = server.sent_bytes
    fetch(tiny(server.url("/tiny")), home)
    assert server.sent_bytes == sent


def test_two_at_once_download_once(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    errors = []

    def run():
        try:
            fetch(tiny(server.url("/tiny")), home)
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


def test_the_callers_progress_is_used_and_left_clean(server, home):
    server.pages["/tiny[1]"] = Page(tar(inside("tiny")))
    with Progress(console=Console(file=io.StringIO())) as progress:
        fetch(tiny(server.url("/tiny[1]")), home, progress=progress)
        assert progress.tasks == []


def test_without_a_terminal_nothing_is_said(server, home, capsys):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    fetch(tiny(server.url("/tiny")), home)
    assert capsys.readouterr() == ("", "")


def test_hash_file_is_sha256(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert hash_file(tmp_path / "file") == sha256(b"abc")
