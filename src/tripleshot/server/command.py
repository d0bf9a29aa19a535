"""`tripleshot serve`."""

import logging
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import Port
from rich.console import Console

from tripleshot.answering.loading import Opening
from tripleshot.errors import InputError
from tripleshot.server import Limits, create_app, open_socket, serve
from tripleshot.server.hosts import AllowedHosts, as_address
from tripleshot.server.logs import json_logging

logger = logging.getLogger(__name__)
DEFAULTS, AS_IT_IS = Limits(), Opening()


def serve_command(
    source: str,
    *,
    host: str = "127.0.0.1",
    port: Port = 8000,
    allow_host: Annotated[list[str] | None, Parameter(negative=())] = None,
    token: Annotated[str | None, Parameter(env_var="TRIPLESHOT_TOKEN")] = None,
    opening: Annotated[Opening, Parameter(name="*")] = AS_IT_IS,
    log: Literal["text", "json"] = "text",
    limits: Annotated[Limits, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Open a page on a graph: ask in the browser, or over HTTP.

    `tripleshot serve my-graph.tsv`

    /openapi.json describes the API, /metrics is for Prometheus. SIGHUP loads SOURCE anew and keeps the old one if it is
    broken. SIGTERM and Ctrl-C let running requests finish.

    Parameters
    ----------
    source
        What is asked: a file of triples, a dataset's folder or its name in the catalog, of which every triple counts,
        or a folder that `tripleshot train` has written.
    host
        The address to listen on; others than your own machine can reach it only if it is not a loopback one.
    port
        The port to listen on; 0 takes a free one.
    allow_host
        Another name that the server may be called by, such as that of a proxy in front of it; may be given several
        times. By default localhost and HOST, and every number if HOST is 0.0.0.0 or ::. `*` allows every name.
    token
        What requests must carry as `Authorization: Bearer TOKEN`; the page asks for it. Better given in the
        environment, where other users of the machine do not see it.
    opening
        How SOURCE is opened.
    log
        How messages are written: `json` writes one object per line, also for every request; as text, requests are
        shown with -v.
    limits
        How much a request may ask for, and how many may wait.
    """
    check_token(token)
    if token is None and not _is_loopback(host):
        logger.warning("%s can be reached by others, and there is no --token", host)
    with open_socket(host, port) as opened:
        load = partial(opening.open, source)
        app = create_app(load(), limits, token, AllowedHosts.of(host, allow_host or ()), load)
        if log == "text":
            return serve(app, opened, limits, announce)
        with json_logging():
            return serve(app, opened, limits, lambda address: logger.info("running on %s", address), has_own_log=True)


def check_token(token: str | None) -> None:
    """Refuse a token that is given and says nothing."""
    if token is not None and not token.strip():
        raise InputError("the token is empty; give one, or none at all")


def announce(address: str) -> None:
    """Say on the terminal where the server is, unless only errors are wanted."""
    if logger.isEnabledFor(logging.WARNING):
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"running on {address} (Ctrl-C stops it)")


def _is_loopback(host: str) -> bool:
    address = as_address(host)
    return host == "localhost" if address is None else address.is_loopback
