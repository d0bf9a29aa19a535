"""`tripleshot mcp`."""

from contextlib import closing
from functools import partial
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import Port

from tripleshot.answering.loading import Opening
from tripleshot.errors import InputError
from tripleshot.server import Limits, open_socket, serve
from tripleshot.server.command import announce, check_token

try:
    from tripleshot.server.mcp import PATH, ToolServer
except ModuleNotFoundError as missing:
    package = (missing.name or "").partition(".")[0]
    if package == "tripleshot":
        raise
    raise InputError(f"assistants need {package}: pip install 'tripleshot[mcp]'") from None

DEFAULTS, AS_IT_IS = Limits(), Opening()


def mcp_command(
    source: str,
    *,
    http: Port | None = None,
    token: Annotated[str | None, Parameter(env_var="TRIPLESHOT_TOKEN")] = None,
    opening: Annotated[Opening, Parameter(name="*")] = AS_IT_IS,
    limits: Annotated[Limits, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Let an assistant ask a graph: an MCP server with the tools search, neighbors, predict, explain and about.

    `tripleshot mcp my-graph.tsv`

    An assistant starts it itself and speaks with it over standard input and output; messages go to standard error.

    Parameters
    ----------
    source
        What is asked: a file of triples, a dataset's folder or its name in the catalog, of which every triple counts,
        or a folder that `tripleshot train` has written.
    http
        Answer HTTP at /mcp on this port of this machine in place of standard input and output; 0 takes a free one.
    token
        What requests over HTTP must carry as `Authorization: Bearer TOKEN`. Better given in the environment, where
        other users of the machine do not see it.
    opening
        How SOURCE is opened.
    limits
        How much a call may ask for, and how many may wait.
    """
    check_token(token)
    load = partial(opening.open, source)
    if http is None:
        with closing(ToolServer(load(), limits)) as tools:
            return tools.run_on_standard_streams()
    with open_socket("127.0.0.1", http) as opened, closing(ToolServer(load(), limits, load)) as tools:
        return serve(tools.http_app(token), opened, limits, lambda address: announce(f"{address}{PATH}"))
