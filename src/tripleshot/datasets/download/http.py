"""Download of one file over HTTP, resumed where it stopped: after a lost connection and in the next run alike."""

import json
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from rich.markup import escape
from rich.progress import Progress, TaskID

from tripleshot.errors import FetchError
from tripleshot.web import (
    InterruptedTransferError,
    Response,
    expected_bytes,
    read_chunk,
    refuse_passing_failure,
    refuse_short,
    send_request,
    status_of,
    with_retries,
)


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
    bar = progress.add_task(escape(Path(urlsplit(url).path).name or url), total=None)
    try:
        with_retries(lambda: _resume(url, part, progress, bar), attempts, wait)
    except InterruptedTransferError as error:
        arrived = part.stat().st_size if part.exists() else 0
        raise FetchError(f"{url}: {error} ({arrived:,} bytes arrived; running the command again resumes)") from error
    finally:
        progress.remove_task(bar)


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
                raise InterruptedTransferError("the file has changed on the server, starting over")
        else:
            _require_success(url, response)
            offset = 0
        _receive(response, url, part, offset, progress, bar)


def _request(url: str, offset: int, version: str) -> Response:
    headers = {"User-Agent": "tripleshot"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": version}
    try:
        request = urllib.request.Request(url, headers=headers)
    except ValueError as error:
        raise FetchError(f"{url} is not a usable address: {error}") from error
    return send_request(request)


def _require_success(url: str, response: Response) -> None:
    refuse_passing_failure(response)
    if response.status != 200:
        raise FetchError(f"{url} answered {status_of(response)}")


def _continues(response: Response, offset: int, version: str) -> bool:
    """Tell whether a partial response continues exactly where `part` ends; some servers ignore If-Range."""
    begins_there = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
    return begins_there and _version(response) in ("", version)


def _receive(response: Response, url: str, part: Path, offset: int, progress: Progress, bar: TaskID) -> None:
    length = expected_bytes(response)
    total = None if length is None else offset + length
    arrived = offset
    progress.update(bar, total=total, completed=arrived)
    with part.open("ab" if offset else "wb") as file:
        if not offset:
            _record_path(part).write_text(json.dumps({"url": url, "version": _version(response)}))
        while chunk := read_chunk(response):
            file.write(chunk)
            arrived += len(chunk)
            progress.update(bar, completed=arrived)
    refuse_short(arrived, total)


def _version(response: Response) -> str:
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
