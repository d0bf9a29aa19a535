"""What the server counts about itself, for Prometheus."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tripleshot.server.workers import Workers

UNKNOWN_PATH = "other"  # one label for all addresses that are none of ours


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


class Counting:
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
