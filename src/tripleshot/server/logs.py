"""What the server says about each request: one record with an id that the answer carries, too, as text or as JSON."""

import json
import logging
import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

HEADER = "X-Request-ID"
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LOGGERS = ("tripleshot", "uvicorn")

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The request that is being answered; None outside of any."""


def choose_id(given: str) -> str:
    """Return the id that a client or a proxy has given a request, if it is a plain one, or else a new one."""
    return given if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, logger, message, the request and what is known about it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; whatever a name contains, it stays one line of ASCII."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            **getattr(record, "request", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None})


@contextmanager
def json_logging() -> Iterator[None]:
    """Write all records as JSON to stderr while the server runs, and one for each request."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    if loggers[0].isEnabledFor(logging.WARNING):  # not when only errors are wanted
        loggers[0].setLevel(min(loggers[0].getEffectiveLevel(), logging.INFO))
    try:
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
