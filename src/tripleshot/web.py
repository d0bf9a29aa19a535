"""Requests over HTTP: http and https alone, bounded in time, and tried again where another attempt may help."""

import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse, InvalidURL
from typing import TypeVar
from urllib.error import HTTPError, URLError

from tripleshot.errors import FetchError

Response = HTTPResponse | HTTPError
Result = TypeVar("Result")

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20
MAX_WAIT_SECONDS = 600.0  # whatever a server asks for
RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})  # the server may answer the next request


class InterruptedTransferError(Exception):
    """The network failed in a way that another attempt may overcome.

    Attributes:
        wait: seconds that the server wants to be left alone; 0 if it does not say.
    """

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def with_retries(action: Callable[[], Result], attempts: int, wait: float) -> Result:
    """Do something until it is not interrupted, and return its result.

    Args:
        action: which raises InterruptedTransferError if it may work the next time.
        attempts: how often to try.
        wait: seconds before the second attempt, doubled before each further one; longer where the server asks for it.

    Raises:
        InterruptedTransferError: that of the last attempt.
    """
    for attempt in range(attempts - 1):
        try:
            return action()
        except InterruptedTransferError as error:
            time.sleep(min(max(wait * 2**attempt, error.wait), MAX_WAIT_SECONDS))
    return action()


def send_request(
    request: urllib.request.Request, timeout: float = TIMEOUT_SECONDS, follows_redirects: bool = True
) -> Response:
    """Send a request; a response with an error status is returned like any other.

    Args:
        request: to an http or https address.
        timeout: seconds without a sign of the server after which it counts as lost.
        follows_redirects: whether another address that the server names is asked, with the same headers.

    Raises:
        FetchError: the address is none.
        InterruptedTransferError: the server cannot be reached, or hung up.
    """
    try:
        return _opener(follows_redirects).open(request, timeout=timeout)
    except HTTPError as response:
        return response
    except URLError as error:
        raise InterruptedTransferError(str(error.reason)) from error
    except (InvalidURL, ValueError) as error:
        raise FetchError(f"{request.full_url} is not a usable address: {error}") from error
    except (OSError, HTTPException) as error:
        raise InterruptedTransferError(str(error) or type(error).__name__) from error


def refuse_passing_failure(response: Response) -> None:
    """Raise InterruptedTransferError for a status that the next request may not get."""
    if response.status in RETRIED_STATUSES:
        delay = response.headers.get("Retry-After", "").strip()
        wait = float(delay) if delay.isdecimal() else 0.0
        raise InterruptedTransferError(f"the server answered {status_of(response)}", wait)


def status_of(response: Response) -> str:
    """Return the status of a response with its reason, such as `503 Service Unavailable`."""
    return f"{response.status} {response.reason}".strip()


def read_chunk(response: Response) -> bytes:
    """Read what has come of a response, at most a chunk; empty at its end."""
    try:
        return response.read1(CHUNK_BYTES)  # unlike read, it loses nothing of what came before a break
    except (OSError, HTTPException, ValueError) as error:
        raise InterruptedTransferError(str(error) or type(error).__name__) from error


def expected_bytes(response: Response) -> int | None:
    """Return how long a response says that it is, or None."""
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def refuse_short(arrived: int, total: int | None) -> None:
    """Raise InterruptedTransferError if less has come than was announced."""
    if total is not None and arrived < total:
        raise InterruptedTransferError(f"the connection closed before all of {total:,} bytes had come")


def _opener(follows_redirects: bool) -> urllib.request.OpenerDirector:
    """Open http and https only: the standard opener would follow a redirect to ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        *([urllib.request.HTTPRedirectHandler] if follows_redirects else []),
    ):
        opener.add_handler(handler())
    return opener
