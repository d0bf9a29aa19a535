"""One file from the web to disk, continued where it stopped: after a broken connection and in the next run alike."""

import json
import time
import urllib.request
from http.client import HTTPException, HTTPResponse, InvalidURL
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from rich.markup import escape
from rich.progress import Progress, TaskID

from tripleshot.errors import FetchError

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20
PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})  # worth asking again


class _BrokenOffError(Exception):
    """The network failed in a way that another attempt may mend."""


def download(url: str, part: Path, *, progress: Progress, attempts: int = 5, wait: float = 1.0) -> None:
    """Bring `url` whole into `part`.

    What arrived stays in `part`, with the server's mark of its version beside it, so that a later call with the same
    `url` asks only for the rest. Raises FetchError when the server refuses or every attempt broke off; an OSError that
    comes out is the disk's.
    """
    reason = "no attempt was made"
    bar = progress.add_task(escape(Path(urlsplit(url).path).name or url), total=None)
    try:
        for attempt in range(attempts):
            if attempt:
                time.sleep(wait * 2 ** (attempt - 1))
            try:
                _continue(url, part, progress, bar)
                return
            except _BrokenOffError as error:
                reason = str(error)
    finally:
        progress.remove_task(bar)
    arrived = part.stat().st_size if part.exists() else 0
    raise FetchError(f"{url}: {reason} ({arrived:,} bytes arrived; running the command again resumes)")


def discard(part: Path) -> None:
    """Remove a download and the note about its version, so that the next one starts clean."""
    part.unlink(missing_ok=True)
    _note_path(part).unlink(missing_ok=True)


def _continue(url: str, part: Path, progress: Progress, bar: TaskID) -> None:
    """Make one attempt, from the end of what is already in `part`."""
    version = _noted_version(part, url)
    offset = part.stat().st_size if version and part.exists() else 0
    with _ask(url, offset, version) as answer:
        if offset and answer.status == 416 and answer.headers.get("Content-Range") == f"bytes */{offset}":
            return
        if offset and answer.status in (206, 416):
            if not _fits(answer, offset, version):
                discard(part)
                raise _BrokenOffError("the file has changed on the server, starting over")
        else:
            _require_whole(url, answer)
            offset = 0
        _receive(answer, url, part, offset, progress, bar)


def _ask(url: str, offset: int, version: str) -> HTTPResponse | HTTPError:
    """Send the request; an answer with an error status is an answer too."""
    headers = {"User-Agent": "tripleshot"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": version}
    try:
        return _opener().open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except HTTPError as answer:
        return answer
    except URLError as error:
        raise _BrokenOffError(str(error.reason)) from error
    except (InvalidURL, ValueError) as error:
        raise FetchError(f"{url} is not a usable address: {error}") from error
    except (OSError, HTTPException) as error:
        raise _BrokenOffError(str(error) or type(error).__name__) from error


def _opener() -> urllib.request.OpenerDirector:
    """Speak http and https only: the standard opener would follow a redirect to ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _require_whole(url: str, answer: HTTPResponse | HTTPError) -> None:
    status = f"{answer.status} {answer.reason}".strip()
    if answer.status in PASSING_STATUSES:
        raise _BrokenOffError(f"the server answered {status}")
    if answer.status != 200:
        raise FetchError(f"{url} answered {status}")


def _fits(answer: HTTPResponse | HTTPError, offset: int, version: str) -> bool:
    """Tell whether a partial answer goes on exactly where `part` ends; some servers ignore If-Range."""
    begins_there = answer.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
    return begins_there and _version(answer) in ("", version)


def _receive(
    answer: HTTPResponse | HTTPError, url: str, part: Path, offset: int, progress: Progress, bar: TaskID
) -> None:
    length = answer.headers.get("Content-Length", "")
    total = offset + int(length) if length.isdecimal() else None
    arrived = offset
    progress.update(bar, total=total, completed=arrived)
    with part.open("ab" if offset else "wb") as file:
        if not offset:
            _note_path(part).write_text(json.dumps({"url": url, "version": _version(answer)}))
        while chunk := _read(answer):
            file.write(chunk)
            arrived += len(chunk)
            progress.update(bar, completed=arrived)
    if total is not None and arrived < total:
        raise _BrokenOffError(f"the connection closed before all of {total:,} bytes had come")


def _read(answer: HTTPResponse | HTTPError) -> bytes:
    try:
        return answer.read1(CHUNK_BYTES)  # unlike read, it loses nothing of what came before a break
    except (OSError, HTTPException, ValueError) as error:
        raise _BrokenOffError(str(error) or type(error).__name__) from error


def _version(answer: HTTPResponse | HTTPError) -> str:
    """Return what If-Range accepts: a strong ETag, else the date of the last change, else nothing."""
    tag = answer.headers.get("ETag", "")
    return tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")


def _note_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _noted_version(part: Path, url: str) -> str:
    """Return the version of what is in `part`; nothing if that is unknown or came from another address."""
    try:
        note = json.loads(_note_path(part).read_text())
        return str(note["version"]) if note["url"] == url else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""
