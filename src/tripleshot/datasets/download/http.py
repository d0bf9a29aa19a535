"""Download of one file over HTTP, resumed where it stopped: after a lost connection and in the next run alike."""

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
RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})  # the server may answer the next request


class _InterruptedError(Exception):
    """The network failed in a way that another attempt may overcome."""


def download(url: str, part: Path, *, progress: Progress, attempts: int = 5, wait: float = 1.0) -> None:
    """Download `url` whole into `part`.

    What has arrived stays in `part`, with the server's ETag or date beside it, so that a later call with the same `url`
    requests the rest only.

    Args:
        url: http or https.
        part: the file to write, or to continue.
        progress: where a bar is shown while it runs.
        attempts: how often to try when the connection is lost.
        wait: seconds before the second attempt, doubled before each further one.

    Raises:
        FetchError: the server refused, or every attempt was interrupted.
        OSError: the disk failed.
    """
    reason = "no attempt was made"
    bar = progress.add_task(escape(Path(urlsplit(url).path).name or url), total=None)
    try:
        for attempt in range(attempts):
            if attempt:
                time.sleep(wait * 2 ** (attempt - 1))
            try:
                _resume(url, part, progress, bar)
                return
            except _InterruptedError as error:
                reason = str(error)
    finally:
        progress.remove_task(bar)
    arrived = part.stat().st_size if part.exists() else 0
    raise FetchError(f"{url}: {reason} ({arrived:,} bytes arrived; running the command again resumes)")


def is_begun(part: Path) -> bool:
    """Tell whether anything of a download is there, or the record of its version."""
    return part.exists() or _record_path(part).exists()


def discard(part: Path) -> None:
    """Remove a download and the record of its version, so that the next one starts anew."""
    part.unlink(missing_ok=True)
    _record_path(part).unlink(missing_ok=True)


def _resume(url: str, part: Path, progress: Progress, bar: TaskID) -> None:
    """Make one attempt, from the end of what is already in `part`."""
    version = _recorded_version(part, url)
    offset = part.stat().st_size if version and part.exists() else 0
    with _request(url, offset, version) as response:
        if offset and response.status == 416 and response.headers.get("Content-Range") == f"bytes */{offset}":
            return
        if offset and response.status in (206, 416):
            if not _continues(response, offset, version):
                discard(part)
                raise _InterruptedError("the file has changed on the server, starting over")
        else:
            _require_success(url, response)
            offset = 0
        _receive(response, url, part, offset, progress, bar)


def _request(url: str, offset: int, version: str) -> HTTPResponse | HTTPError:
    """Send the request; a response with an error status is returned like any other."""
    headers = {"User-Agent": "tripleshot"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": version}
    try:
        return _opener().open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except HTTPError as response:
        return response
    except URLError as error:
        raise _InterruptedError(str(error.reason)) from error
    except (InvalidURL, ValueError) as error:
        raise FetchError(f"{url} is not a usable address: {error}") from error
    except (OSError, HTTPException) as error:
        raise _InterruptedError(str(error) or type(error).__name__) from error


def _opener() -> urllib.request.OpenerDirector:
    """Open http and https only: the standard opener would follow a redirect to ftp."""
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


def _require_success(url: str, response: HTTPResponse | HTTPError) -> None:
    status = f"{response.status} {response.reason}".strip()
    if response.status in RETRIED_STATUSES:
        raise _InterruptedError(f"the server answered {status}")
    if response.status != 200:
        raise FetchError(f"{url} answered {status}")


def _continues(response: HTTPResponse | HTTPError, offset: int, version: str) -> bool:
    """Tell whether a partial response continues exactly where `part` ends; some servers ignore If-Range."""
    begins_there = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
    return begins_there and _version(response) in ("", version)


def _receive(
    response: HTTPResponse | HTTPError, url: str, part: Path, offset: int, progress: Progress, bar: TaskID
) -> None:
    length = response.headers.get("Content-Length", "")
    total = offset + int(length) if length.isdecimal() else None
    arrived = offset
    progress.update(bar, total=total, completed=arrived)
    with part.open("ab" if offset else "wb") as file:
        if not offset:
            _record_path(part).write_text(json.dumps({"url": url, "version": _version(response)}))
        while chunk := _read(response):
            file.write(chunk)
            arrived += len(chunk)
            progress.update(bar, completed=arrived)
    if total is not None and arrived < total:
        raise _InterruptedError(f"the connection closed before all of {total:,} bytes had come")


def _read(response: HTTPResponse | HTTPError) -> bytes:
    try:
        return response.read1(CHUNK_BYTES)  # unlike read, it loses nothing of what came before a break
    except (OSError, HTTPException, ValueError) as error:
        raise _InterruptedError(str(error) or type(error).__name__) from error


def _version(response: HTTPResponse | HTTPError) -> str:
    """Return what If-Range accepts: a strong ETag, else the date of the last change, else an empty text."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")


def _record_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _recorded_version(part: Path, url: str) -> str:
    """Return the version of what is in `part`; empty if it is unknown or came from another address."""
    try:
        record = json.loads(_record_path(part).read_text())
        return str(record["version"]) if record["url"] == url else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""
