"""One shape for everything that can go wrong: `{"detail": "one clear sentence"}`."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from tripleshot.errors import TripleshotError
from tripleshot.server.memory import TooLargeError
from tripleshot.server.schemas import Problem
from tripleshot.server.service import UnknownEntityError
from tripleshot.server.workers import BusyError

MAX_DETAIL = 500  # letters
BUSY = "too many requests wait already; try again later"
BROKEN = "something is wrong with the server; its log says what"
MEANINGS = {
    400: "Names that are not known, or more than this server allows.",
    401: "The bearer token is missing or wrong.",
    404: "There is no such thing.",
    413: "The request is too large, or needs too much memory.",
    422: "The request is not of the documented form.",
    421: "The server is not called by the name that the request was sent to.",
    503: "Too many requests wait already; try again later.",
    504: "It took too long and was given up.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of an endpoint for OpenAPI."""
    return {status: {"model": Problem, "description": MEANINGS[status]} for status in statuses}


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Make the answer to a request that failed."""
    return JSONResponse({"detail": shown(detail)}, status, headers)


def shown(detail: str) -> str:
    """Return a sentence as it is sent: not too long, and what UTF-8 cannot say becomes a question mark."""
    cut = detail if len(detail) <= MAX_DETAIL else detail[:MAX_DETAIL] + "…"
    return cut.encode("utf-8", "replace").decode()


def wrong_field(error: Mapping[str, Any], outer: int = 0) -> str:
    """Return what pydantic says of a field in one line: where it is, and what is wrong with it.

    Args:
        error: one of those that pydantic lists.
        outer: how many parts of its place are not the sender's.
    """
    place = ".".join(str(part) for part in error["loc"][outer:]) or "body"
    return f"{place}: {error['msg']}"


def add_handlers(app: FastAPI) -> None:
    """Let every error leave in the one shape."""

    def show_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, error.detail, dict(error.headers or {}))

    def show_validation(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        is_json = first["type"] != "json_invalid"
        return problem(422, wrong_field(first, outer=1) if is_json else f"not JSON: {first['msg']}")

    def show_input(_: Request, error: Exception) -> Response:
        status = 404 if isinstance(error, UnknownEntityError) else 413 if isinstance(error, TooLargeError) else 400
        return problem(status, str(error))

    def show_busy(_: Request, error: Exception) -> Response:
        return problem(503, BUSY, {"Retry-After": "1"})

    def show_anything(_: Request, error: Exception) -> Response:
        return problem(500, BROKEN)

    app.add_exception_handler(HTTPException, show_http)
    app.add_exception_handler(RequestValidationError, show_validation)
    app.add_exception_handler(TripleshotError, show_input)
    app.add_exception_handler(BusyError, show_busy)
    app.add_exception_handler(Exception, show_anything)
