"""A process that serves until it is told to stop."""

import signal
from types import FrameType

import uvicorn
from fastapi import FastAPI

from tripleshot.server.limits import Limits

EXTRA_SECONDS = 5  # beyond the longest request, before open connections are cut
MAX_CONNECTIONS = 1000


def serve(app: FastAPI, host: str, port: int, limits: Limits) -> None:
    """Serve; on SIGTERM or Ctrl-C, finish the requests that have begun and return."""
    config = uvicorn.Config(
        app,
        host,
        port,
        log_level="info",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=int(limits.max_seconds) + EXTRA_SECONDS,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = uvicorn.Server(config)

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True  # uvicorn raises the signal again when it is done; this lets it end well

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    server.run()
    if not server.started:
        raise SystemExit(1)
