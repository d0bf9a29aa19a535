"""What is served, and how it is replaced while it is: loaded anew beside the old one, checked, swapped in one step."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge

from tripleshot.answering.predictor import Predictor
from tripleshot.errors import TripleshotError
from tripleshot.server.limits import Limits
from tripleshot.server.service import Service

NOT_RELOADED = "not reloaded, what was served before is served on"

logger = logging.getLogger(__name__)


class Served:
    """The service of the moment.

    A request takes `service` once and keeps it to its end, so that whatever is replaced meanwhile, it is answered by
    one graph and one method. The old one is freed after its last request.

    Attributes:
        service: what the next request is answered by.
        limits: how much a request may ask for.
    """

    def __init__(
        self, predictor: Predictor, limits: Limits, load: Callable[[], Predictor] | None, registry: CollectorRegistry
    ) -> None:
        """Begin with a predictor.

        Args:
            predictor: what is asked first.
            limits: how much a request may ask for.
            load: loads what is asked afterwards, and raises if it is broken; None if nothing ever takes its place.
            registry: of the figures.
        """
        self.service, self.limits, self._load = Service(predictor, limits), limits, load
        self._one_at_a_time, self._is_waiting = asyncio.Lock(), False
        self._reloads = Counter("tripleshot_reloads", "Reloads, by how they went.", ["result"], registry=registry)
        for result in ("done", "failed"):
            self._reloads.labels(result)  # shown from the start, so that the first failure is seen as a change
        self._since = Gauge("tripleshot_loaded_timestamp_seconds", "When what is served was loaded.", registry=registry)
        self._since.set_to_current_time()

    async def reload(self) -> None:
        """Load anew, and swap if it can be asked.

        Files may have changed after a load has begun to read them, so a call during a load is followed by another
        one; more calls than one add nothing to that.
        """
        if self._load is None or self._is_waiting:
            return
        self._is_waiting = True
        async with self._one_at_a_time:
            self._is_waiting = False
            try:
                service = await start(partial(self._make, self._load))
            except TripleshotError as error:
                self._reloads.labels("failed").inc()
                logger.error("%s: %s", NOT_RELOADED, error)
            except Exception:  # whatever is wrong with the new one, the old one is not
                self._reloads.labels("failed").inc()
                logger.exception("%s", NOT_RELOADED)
            else:
                self.service = service
                self._reloads.labels("done").inc()
                self._since.set_to_current_time()
                logger.info("reloaded: %r", service.predictor)

    def _make(self, load: Callable[[], Predictor]) -> Service:
        service = Service(load(), self.limits)
        service.search("a", 1)  # indexes the names: the new one is ready when it is swapped in
        return service


def start(work: Callable[[], Service]) -> "asyncio.Future[Service]":
    """Do some work in a thread that the end of the process does not wait for: a large graph takes minutes to load."""
    result: Future[Service] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # raised again where it is waited for
            result.set_exception(error)

    result.set_running_or_notify_cancel()
    threading.Thread(target=do, name="reload", daemon=True).start()
    return asyncio.wrap_future(result)


class Terminal:
    """The terminal that the server was started from. When it is closed, SIGHUP does not ask for a reload."""

    def __init__(self) -> None:
        self._file: int | None = None
        if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # started by nohup: it outlives its terminal
            return
        with suppress(OSError):  # there is none
            self._file = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)

    def is_lost(self) -> bool:
        """Whether it has been closed."""
        return self._file is not None and not os.isatty(self._file)
