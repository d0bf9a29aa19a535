"""A web server that misbehaves as asked, and a small dataset to download from it."""

import hashlib
import io
import stat
import tarfile
import time
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from tripleshot.datasets.download import RemoteDataset

FILES = {"path_graph": b"a\tr\tb\n" * 40_000, "ent2ids": b'{"a": 0, "b": 1}', "notes/card": b"extra"}
LISTED = ("path_graph", "ent2ids")
PIECE = 4096  # bytes that a slow page sends at once


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
    pause: float = 0.0  # seconds between pieces of the body


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.sent_bytes = 0

    def handle_error(self, request, client_address):
        """Say nothing of a client that went away."""

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
        written = b"%x\r\n%s%s" % (len(body), sent, end) if chunked else sent
        step = PIECE if page is not None and page.pause else max(len(written), 1)
        for start in range(0, len(written), step):
            self.wfile.write(written[start : start + step])
            time.sleep(page.pause if page is not None else 0.0)
        cast(Server, self.server).sent_bytes += len(sent)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tiny_remote(*urls: str, archive_sha256: str | None = None) -> RemoteDataset:
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
