"""`tripleshot serve`."""

import ipaddress
import logging
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import Port
from rich.console import Console

from tripleshot.answering.loading import load
from tripleshot.errors import InputError
from tripleshot.server import Limits, create_app, open_socket, serve

logger = logging.getLogger(__name__)
DEFAULTS = Limits()


def serve_command(
    run: Path,
    *,
    host: str = "127.0.0.1",
    port: Port = 8000,
    token: Annotated[str | None, Parameter(env_var="TRIPLESHOT_TOKEN")] = None,
    data: str | None = None,
    device: str = "cpu",
    limits: Annotated[Limits, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Answer questions to a run over HTTP: a JSON API, and a page for the browser at /.

    /openapi.json describes the API, /metrics is for Prometheus. SIGTERM and Ctrl-C let running requests finish.

    Parameters
    ----------
    run
        The folder that `tripleshot train` has written.
    host
        The address to listen on; others than your own machine can reach it only if it is not a loopback one.
    port
        The port to listen on; 0 takes a free one.
    token
        What requests must carry as `Authorization: Bearer TOKEN`; the page asks for it. Better given in the
        environment, where other users of the machine do not see it.
    data
        Where the run's dataset is now, if it has moved.
    device
        cpu, cuda, cuda:1, mps, ...
    limits
        How much a request may ask for, and how many may wait.
    """
    if token is not None and not token.strip():
        raise InputError("the token is empty; give one, or none at all")
    if token is None and not _is_loopback(host):
        logger.warning("%s can be reached by others, and there is no --token", host)
    with open_socket(host, port) as opened:
        serve(create_app(load(run, data, device), limits, token), opened, limits, announce)


def announce(address: str) -> None:
    """Say on the terminal where the server is, unless only errors are wanted."""
    if logger.isEnabledFor(logging.WARNING):
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"running on {address} (Ctrl-C stops it)")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
