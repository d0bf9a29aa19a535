"""Connections that cannot be held open for nothing: uvicorn knows no time-out for headers and no limit per address.

A client that is slow, silent or does not read is cut off when its time is over. When there are too many connections,
the one that has kept the server waiting longest makes room, and one that never asked before any that did, so that a
thousand silent ones keep nobody out.
"""

import asyncio
import selectors
from typing import Any

from prometheus_client import Counter
from uvicorn.protocols.http.h11_impl import H11Protocol

from tripleshot.server.limits import Limits

EXTRA_SECONDS = 5  # beyond the longest request, before its connection is cut


class Connection(H11Protocol):
    """One connection: a deadline for whatever it is doing, and a place among a bounded number."""

    def __init__(self, limits: Limits, dropped: Counter, **given: Any) -> None:  # noqa: ANN401
        """Make a connection.

        Args:
            limits: how long it may take for what, and how many others there may be.
            dropped: counts those that are cut, by reason.
            given: what uvicorn gives its protocols.
        """
        super().__init__(**given)
        self.limits, self.dropped = limits, dropped
        self.since = 0.0  # when it began to do what it does
        self.was_answered = False  # before, on this connection
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_between_requests(self) -> bool:
        """Whether there is nothing to answer."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def waits_for_client(self) -> bool:
        """Whether it is the client's turn: to ask, or to send the rest of a request."""
        return self.is_between_requests or self.cycle.more_body

    @property
    def is_unread(self) -> bool:
        """Whether something has arrived that the server has not read yet."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.transport.get_extra_info("socket").fileno(), selectors.EVENT_READ)
            return bool(selector.select(0))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room or somebody can make it."""
        super().connection_made(transport)
        self._allow(self.limits.header_seconds)
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Read; single bytes of a request that does not become whole earn no time."""
        was_between_requests = self.is_between_requests
        super().data_received(data)
        if was_between_requests and not self.is_between_requests:
            self._allow(self.limits.max_seconds + EXTRA_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be there already, or for the client to read its answer."""
        super().on_response_complete()
        self.was_answered = True
        is_idle = self.is_between_requests and not self.transport.get_write_buffer_size()
        idle, busy = self.timeout_keep_alive + self.limits.header_seconds, self.limits.max_seconds + EXTRA_SECONDS
        self._allow(idle if is_idle else busy)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def drop(self, reason: str = "deadline") -> None:
        """Cut the connection at once, whatever has not been sent."""
        self.dropped.labels(reason).inc()
        self.connections.discard(self)
        self.transport.abort()

    def _allow(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.since, self._deadline = self.loop.time(), self.loop.call_later(seconds, self.drop)

    def _make_room(self) -> None:
        """Drop the connection that has waited longest for its client, or this one if all are being answered.

        Those that have never asked anything go first: a burst of silent ones cuts off nobody between two requests. Nor
        does it cut off who has just asked: in a burst all are accepted before the first of them is read.
        """
        everyone = [other for other in self.connections if isinstance(other, Connection)]
        neighbors = [other for other in everyone if other.client and self.client and other.client[0] == self.client[0]]
        limits = self.limits
        for group, limit in ((neighbors, limits.max_per_address), (everyone, limits.max_connections)):
            if len(group) > limit:
                waiting = [other for other in group if other.waits_for_client and other is not self]
                waiting.sort(key=lambda other: (other.was_answered, other.since))
                next((other for other in waiting if not other.is_unread), self).drop("room")
                return
