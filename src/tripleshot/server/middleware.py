"""What stands before every request: size, time and token; and the headers that every answer carries."""

import asyncio
import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tripleshot.server.errors import problem

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
