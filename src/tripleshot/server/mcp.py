"""The Model Context Protocol: an assistant lists the tools and calls them, over standard input and output or HTTP."""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import IO, Any, BinaryIO, cast

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from tripleshot.answering.predictor import Predictor
from tripleshot.errors import TripleshotError, did_you_mean
from tripleshot.server.connections import EXTRA_SECONDS
from tripleshot.server.errors import BROKEN, BUSY, problem, shown, wrong_field
from tripleshot.server.limits import Limits
from tripleshot.server.metrics import Metrics
from tripleshot.server.middleware import TimeLimit, TokenGuard
from tripleshot.server.reloading import Served
from tripleshot.server.tools import TOOLS, Tool
from tripleshot.server.workers import BusyError, Workers

PATH = "/mcp"
READS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

logger = logging.getLogger(__name__)


class ToolServer:
    """The tools on one graph, each call within the limits.

    Attributes:
        protocol: the server of the SDK, which any of its transports and clients can be connected to.
    """

    def __init__(self, predictor: Predictor, limits: Limits, load: Callable[[], Predictor] | None = None) -> None:
        """Begin with a predictor.

        Args:
            predictor: what is asked.
            limits: how much a call may ask for.
            load: loads the predictor anew, when a server over HTTP is told to reload.
        """
        self.limits, self._workers = limits, Workers(limits.workers, limits.max_waiting)
        self._metrics = Metrics(self._workers)
        self._served = Served(predictor, limits, load, self._metrics.registry)
        self._tools = {tool.name: tool for tool in TOOLS}
        self.protocol: Server[Any] = Server(
            "tripleshot",
            version=version("tripleshot"),
            title="tripleshot",
            instructions=f"Asks the knowledge graph {predictor.dataset.name!r}. `search` finds the names of entities, "
            "`predict` proposes facts that the graph does not have, and `explain` says why.",
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool; what the caller can mend is an error that says so in one line."""
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, shown(f"unknown tool {name!r}{did_you_mean(name, list(self._tools))}"))
        clock = asyncio.timeout(self.limits.max_seconds)
        try:
            async with clock:
                request = tool.request.model_validate(arguments)
                return as_result(await self._workers.run(tool.call(self._served.service, request)))
        except ValidationError as error:
            return as_error(wrong_field(error.errors(include_url=False)[0]))
        except TripleshotError as error:
            return as_error(str(error))
        except BusyError:
            return as_error(BUSY)
        except TimeoutError:
            if not clock.expired():
                raise
            return as_error(f"given up after {self.limits.max_seconds:g} seconds")
        except Exception:  # the assistant is told that something is wrong, and the log what
            logger.exception("%s", name)
            return as_error(BROKEN)

    def http_app(self, token: str | None) -> Starlette:
        """Return an application for `serve` that answers HTTP at `/mcp`, to this machine's own names alone.

        Args:
            token: what requests must carry as a bearer token; None lets everyone in.
        """
        app = self.protocol.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,  # every call stands for itself
            max_request_body_size=self.limits.max_body,
            host="127.0.0.1",  # whose names alone it answers to, so that no page elsewhere can ask it
        )
        if token is not None:
            app.add_middleware(TokenGuard, token, app.routes)
        app.add_middleware(TimeLimit, self.limits.max_seconds + EXTRA_SECONDS)  # a call says itself that it took long
        app.add_middleware(PostsOnly)
        app.state.metrics, app.state.served = self._metrics, self._served
        return app

    def run_on_standard_streams(self) -> None:
        """Answer what comes on standard input until it ends. Standard output carries the protocol and nothing else."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads standard input cannot be waited for
        anyio.run(self._serve_standard_streams)

    def close(self) -> None:
        """Finish what has begun."""
        self._workers.close()

    async def _serve_standard_streams(self) -> None:
        messages = cast("IO[str]", MessageReader(sys.stdin.buffer, self.limits.max_body))
        async with stdio_server(anyio.wrap_file(messages)) as (incoming, outgoing):
            await self.protocol.run(incoming, outgoing, self.protocol.create_initialization_options())

    async def _list(self, _: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[as_listed(tool) for tool in TOOLS])

    async def _call(self, _: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        return await self.call(params.name, params.arguments or {})


class MessageReader:
    """Reads messages, one on each line, and none that is larger than a request may be."""

    def __init__(self, source: BinaryIO, max_bytes: int) -> None:
        self._source, self._max_bytes = source, max_bytes

    def readline(self) -> str:
        """Return the next message; one that is too large is left out, and what is told of it is no message."""
        line = self._source.readline(self._max_bytes + 1)
        if len(line) <= self._max_bytes:
            return line.decode("utf-8", errors="replace")
        while line and not line.endswith(b"\n"):
            line = self._source.readline(self._max_bytes)
        logger.warning("a message of more than %d bytes is left out", self._max_bytes)
        return "too large\n"


class PostsOnly:
    """Refuses to open streams for what the server has to say of its own accord: it never has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or scope["method"] == "POST":
            return await self.app(scope, receive, send)
        return await problem(405, "calls are sent with POST", {"Allow": "POST"})(scope, receive, send)


def as_listed(tool: Tool[Any, Any]) -> ListedTool:
    """Return a tool as the protocol describes it."""
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.request.model_json_schema(),
        output_schema=tool.response.model_json_schema(mode="serialization"),
        annotations=READS_ONLY,
    )


def as_result(found: BaseModel) -> CallToolResult:
    """Return an answer as the protocol carries it: as data, and as text for clients that know nothing else."""
    document = found.model_dump(mode="json")
    text = TextContent(type="text", text=json.dumps(document, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=document)


def as_error(detail: str) -> CallToolResult:
    """Return an error that the assistant reads."""
    return CallToolResult(content=[TextContent(type="text", text=shown(detail))], is_error=True)
