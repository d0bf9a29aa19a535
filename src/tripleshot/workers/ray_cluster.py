"""Workers on the machines of a Ray cluster: each piece is a Ray task, which Ray gives to any machine with a free core.

Ray's processes stay for task after task, and keep what they have opened. A task whose process or machine died is given
to another one by Ray, so nothing has to be kept track of here but which pieces are left.
"""

import os
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from tripleshot.errors import InputError, TripleshotError
from tripleshot.workers.work import MAX_TRIES, Work, given_up

WAITING_PER_CORE = 2  # pieces that are with Ray at the same time: one at work, and the next
RECHECK_SECONDS = 5.0  # machines that came or went are noticed
LOCAL = "local"

_OPENED: dict[str, Callable[[Any], Any]] = {}  # in a process of Ray: what it has opened last


def run_on_cluster(
    work: Work, pieces: Sequence[Any], address: str, num_workers: int | None = None
) -> Generator[Any, None, None]:
    """Do pieces on a Ray cluster, and give the results as they come.

    A piece whose process or machine died is given to another one by Ray. An error that a piece raises is raised here.

    Args:
        work: what every process opens; the files that it names are there on every machine.
        pieces: to be done, the first ones first.
        address: of the cluster; "auto" is the one that this machine belongs to, "local" is started here for this work.
        num_workers: at the same time, at most; None takes every core, also of machines that join later.

    Raises:
        InputError: Ray is not installed, or there is no cluster at the address.
        TripleshotError: several processes died over one piece.
    """
    if not pieces:
        return
    with _connected(address, num_workers) as ray:
        do = ray.remote(num_cpus=1, max_retries=MAX_TRIES - 1, retry_exceptions=False)(_do)
        key, remaining = uuid.uuid4().hex, iter(pieces)
        running: dict[Any, Any] = {}
        while True:
            limit = num_workers or WAITING_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
            running |= {do.remote(key, work, piece): piece for piece in islice(remaining, max(limit - len(running), 0))}
            if not running:
                return
            done, _ = ray.wait([*running], timeout=RECHECK_SECONDS)
            for reference in done:
                yield _result(ray, reference, running.pop(reference))


@contextmanager
def _connected(address: str, num_workers: int | None) -> Iterator[Any]:
    """Give the module of Ray, connected; a connection that was there before stays."""
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user wants it
        import ray
    except ImportError:
        raise InputError("a cluster needs Ray: pip install 'tripleshot[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    own = {"num_cpus": num_workers, "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"{address}: no Ray cluster can be reached there: {_line(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _result(ray: Any, reference: Any, piece: Any) -> Any:  # noqa: ANN401 (Ray need not be installed)
    """Return the result of a piece, or raise what it ended with."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ray.exceptions.RaySystemError):
            raise TripleshotError(f"{piece}: a machine of the cluster cannot begin it: {_line(error.cause)}") from None
        raise error.cause if isinstance(error.cause, TripleshotError) else error from None
    except ray.exceptions.RayError as error:
        raise given_up(piece, f"left: {_line(error)}") from None


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _do(key: str, work: Work, piece: Any) -> Any:  # noqa: ANN401 (whatever the work takes and gives)
    """Do a piece in a process of Ray, with what the process has opened for the pieces before it."""
    if key not in _OPENED:
        _OPENED.clear()
        _OPENED[key] = work.open()
    return _OPENED[key](piece)
