"""Figures about the server for Prometheus, and a record in the log for every request."""

import logging
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tripleshot.server.logs import HEADER, choose_id, request_id
from tripleshot.server.workers import Workers

UNKNOWN_PATH = "other"  # one label for all addresses that are none of ours
REJECTIONS = {401: "token", 413: "size", 421: "host", 503: "busy", 504: "time"}

logger = logging.getLogger(__name__)


class Metrics:
    """Counters of one application."""

    def __init__(self, scoring: Workers) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)  # memory, processor time and open files
        self.requests = Counter(
            "tripleshot_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self.rejected = Counter(
            "tripleshot_rejected_requests", "Requests turned away, by what they lacked.", ["reason"], registry=registry
        )
        self.dropped = Counter(
            "tripleshot_dropped_connections",
            "Connections cut: by deadline, or for room.",
            ["reason"],
            registry=registry,
        )
        self.latency = Histogram(
            "tripleshot_request_seconds", "Time from request to answer.", ["path"], registry=registry
        )
        self.answers = Counter("tripleshot_answers", "Heads that were answered.", registry=registry)
        self.scoring = Histogram(
            "tripleshot_scoring_seconds", "Time spent on ranking and explaining.", registry=registry
        )
        waiting = Gauge("tripleshot_waiting_requests", "Requests that wait for a worker.", registry=registry)
        waiting.set_function(lambda: scoring.num_waiting)
        running = Gauge("tripleshot_running_requests", "Requests that a worker is busy with.", registry=registry)
        running.set_function(lambda: scoring.num_running)

    def page(self) -> bytes:
        """Return all figures in the text format."""
        return generate_latest(self.registry)


class RequestCounter:
    """Gives every request an id, counts it and logs it, also if it fails."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started, status = time.perf_counter(), 500
        own_id = choose_id(Headers(scope=scope).get(HEADER, ""))
        request_id.set(own_id)  # for the rest of this task: also for what the server logs about a failure

        async def send_some(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = own_id
            await send(message)

        try:
            return await self.app(scope, receive, send_some)
        finally:
            self._record(scope, status, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        path = getattr(scope.get("route"), "path", UNKNOWN_PATH)
        self.metrics.requests.labels(path, status).inc()
        self.metrics.latency.labels(path).observe(seconds)
        if status in REJECTIONS:
            self.metrics.rejected.labels(REJECTIONS[status]).inc()
        client = (scope.get("client") or ("",))[0]
        about = {"method": scope["method"], "path": scope["path"], "status": status, "client": client}
        text = f"{scope['method']} {scope['path']} {status}, {1000 * seconds:.0f} ms, request {request_id.get()}"
        logger.info("%s", text, extra={"request": {**about, "seconds": round(seconds, 6)}})
