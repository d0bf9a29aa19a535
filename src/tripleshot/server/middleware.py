"""What stands before every request: counts, size, time and token; and the headers that every answer carries."""

import asyncio
import hmac
import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tripleshot.server.errors import problem
from tripleshot.server.workers import Workers

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
UNKNOWN_PATH = "other"  # one label for all addresses that are none of ours


class SafeHeaders:
    """Tells browsers to run only our own files; answers are not kept unless they say how."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


class BodyLimit:
    """Refuses large requests, whatever their headers say, as soon as too much has arrived."""

    def __init__(self, app: ASGIApp, max_body: int) -> None:
        self.app, self.max_body = app, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        detail = f"the request is larger than the {self.max_body:,} bytes that this server allows"
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > self.max_body:
            return await problem(413, detail, {"Connection": "close"})(scope, receive, send)
        num_bytes = 0

        async def receive_some() -> Message:
            nonlocal num_bytes
            message = await receive()
            num_bytes += len(message.get("body", b""))
            if num_bytes > self.max_body:
                raise HTTPException(413, detail, {"Connection": "close"})
            return message

        return await self.app(scope, receive_some, send)


class TimeLimit:
    """Gives a request up after some time, from its first byte on."""

    def __init__(self, app: ASGIApp, max_seconds: float) -> None:
        self.app, self.max_seconds = app, max_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        has_begun = False

        async def send_some(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        clock = asyncio.timeout(self.max_seconds)
        try:
            async with clock:
                return await self.app(scope, receive, send_some)
        except TimeoutError:
            if not clock.expired():
                raise
            if has_begun:  # nothing else can be said any more; the connection ends with half an answer
                return None
        return await problem(504, f"given up after {self.max_seconds:g} seconds")(scope, receive, send)


class TokenGuard:
    """Asks for a bearer token on the routes that it guards."""

    def __init__(self, app: ASGIApp, token: str, routes: Sequence[BaseRoute]) -> None:
        self.app, self.routes, self.token = app, routes, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        is_guarded = scope["type"] == "http" and any(route.matches(scope)[0] != Match.NONE for route in self.routes)
        if not is_guarded or self._is_allowed(Headers(scope=scope).get("authorization", "")):
            return await self.app(scope, receive, send)
        refused = problem(401, "this server asks for a bearer token", {"WWW-Authenticate": "Bearer"})
        return await refused(scope, receive, send)

    def _is_allowed(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), self.token)


class Metrics:
    """Counters of one application."""

    def __init__(self, scoring: Workers) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tripleshot_requests", "Requests by path and status.", ["path", "status"], registry=self.registry
        )
        self.latency = Histogram(
            "tripleshot_request_seconds", "Time from request to answer.", ["path"], registry=self.registry
        )
        self.answers = Counter("tripleshot_answers", "Heads that were answered.", registry=self.registry)
        self.scoring = Histogram(
            "tripleshot_scoring_seconds", "Time spent on ranking and explaining.", registry=self.registry
        )
        waiting = Gauge("tripleshot_waiting_requests", "Requests that wait for a worker.", registry=self.registry)
        waiting.set_function(lambda: scoring.num_waiting)
        running = Gauge("tripleshot_running_requests", "Requests that a worker is busy with.", registry=self.registry)
        running.set_function(lambda: scoring.num_running)

    def page(self) -> bytes:
        """Return all figures in the text format."""
        return generate_latest(self.registry)


class RequestCounter:
    """Counts every request, also those that fail."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started, status = time.perf_counter(), 500

        async def send_some(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            return await self.app(scope, receive, send_some)
        finally:
            path = getattr(scope.get("route"), "path", UNKNOWN_PATH)
            self.metrics.requests.labels(path, status).inc()
            self.metrics.latency.labels(path).observe(time.perf_counter() - started)
