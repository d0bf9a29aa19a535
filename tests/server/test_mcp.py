"""The tools over the protocol, as the public SDK's own client meets them: within this process, and over HTTP."""

import asyncio
import io
import json
import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import httpx
import numpy as np
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from server.conftest import EXAMPLES, QUESTION, SlowMethod, predictor_of
from tripleshot.answering.predictor import Predictor
from tripleshot.server import Limits
from tripleshot.server.mcp import PATH, MessageReader, ToolServer

DEFAULTS = Limits()
TOOLS_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def call(predictor: Predictor, name: str, arguments: Mapping[str, Any], limits: Limits = DEFAULTS) -> CallToolResult:
    async def ask() -> CallToolResult:
        with closing(ToolServer(predictor, limits)) as server:
            async with Client(server.protocol) as client:
                return await client.call_tool(name, dict(arguments))

    return asyncio.run(ask())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def error_of(result: CallToolResult) -> str:
    assert result.is_error
    assert result.structured_content is None
    text = text_of(result)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def test_a_client_lists_the_tools_with_what_they_take_and_return(predictor):
    async def list_tools():
        with closing(ToolServer(predictor, Limits())) as server:
            async with Client(server.protocol) as client:
                return (await client.list_tools()).tools, client.instructions

    tools, instructions = asyncio.run(list_tools())
    assert [tool.name for tool in tools] == ["about", "search", "neighbors", "predict", "explain"]
    assert "'atlas'" in str(instructions)
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("about", {}),
        ("search", {"text": "bakku", "limit": 1}),
        ("neighbors", {"entity": "Baku"}),
        ("predict", QUESTION),
        ("predict", {"relation": "borders", "tails": ["country/peru"], "top": 2, "with_known": True}),
        ("explain", {"examples": EXAMPLES, "head": "city/baku-az", "tail": "Caspian Sea"}),
    ],
)
def test_an_answer_is_data_of_the_announced_form_and_the_same_as_text(predictor, name, arguments):
    result = call(predictor, name, arguments)
    assert not result.is_error, text_of(result)
    assert json.loads(text_of(result)) == result.structured_content


def test_a_prediction_comes_with_its_confidence_and_that_of_none(predictor):
    universal = Predictor(predictor.dataset)
    (found,) = call(universal, "predict", QUESTION).structured_content["results"]
    assert found["answers"][0]["entity"]["label"] == "Caspian Sea"
    assert 0 < found["answers"][0]["confidence"] <= 1
    assert 0 <= found["none"] < 1


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search", {}, "text: Field required"),
        ("search", {"text": "a", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ("search", {"text": "a", "size": 5}, "size: Extra inputs are not permitted"),
        ("about", {"self": 1}, "self: Extra inputs are not permitted"),
        ("predict", QUESTION | {"top": "3"}, "top: Input should be a valid integer"),
        ("predict", QUESTION | {"tails": ["#1"]}, "give the heads or the tails that are asked about, and not both"),
        ("predict", {"heads": ["#1"], "relation": "bordres"}, "no relation 'bordres' .* did you mean 'borders'?"),
        ("predict", {"heads": ["#1"]}, "examples: give at least one pair of head and tail"),
        ("neighbors", {"entity": "city/bakku-az"}, "unknown entity 'city/bakku-az': did you mean city/baku-az"),
        ("neighbors", {"entity": "#99999"}, "unknown entity #99999: ids go from 0 to"),
        ("explain", {"relation": "borders", "head": "nobody", "tail": "#1"}, "unknown entity 'nobody'"),
    ],
)
def test_wrong_arguments_get_one_line_that_says_what_is_wrong(predictor, name, arguments, message):
    assert re.search(message, error_of(call(predictor, name, arguments)))


def test_limits_hold_over_the_protocol(predictor):
    result = call(predictor, "predict", QUESTION | {"top": 50}, Limits(max_top=49))
    assert error_of(result) == "top: 50 are more than the 49 that this server allows"
    result = call(predictor, "predict", QUESTION | {"candidates": "all"}, Limits(max_memory=1000))
    assert "more than the 0.0 MB that this server allows" in error_of(result)


def test_an_unknown_tool_is_an_error_of_the_protocol_that_suggests_one(predictor):
    async def ask() -> None:
        with closing(ToolServer(predictor, Limits())) as server:
            async with Client(server.protocol) as client:
                with pytest.raises(MCPError, match="unknown tool 'predcit'; did you mean 'predict'"):
                    await client.call_tool("predcit", {})

    asyncio.run(ask())


def test_a_call_that_takes_too_long_is_given_up():
    slow = SlowMethod()

    async def ask() -> CallToolResult:
        with closing(ToolServer(predictor_of("slow", slow), Limits(max_seconds=0.2))) as server:
            async with Client(server.protocol) as client:
                found = await client.call_tool("predict", QUESTION)
                slow.may_go_on.set()
                return found

    assert error_of(asyncio.run(ask())) == "given up after 0.2 seconds"


def test_a_call_that_finds_no_place_to_wait_is_turned_away():
    slow = SlowMethod()

    async def ask() -> tuple[CallToolResult, CallToolResult]:
        with closing(ToolServer(predictor_of("slow", slow), Limits(workers=1, max_waiting=0))) as server:
            async with Client(server.protocol) as client:
                first = asyncio.create_task(client.call_tool("predict", QUESTION))
                await asyncio.to_thread(slow.has_begun.wait, 10)
                second = await client.call_tool("predict", QUESTION)
                slow.may_go_on.set()
                return await first, second

    first, second = asyncio.run(ask())
    assert not first.is_error
    assert error_of(second) == "too many requests wait already; try again later"


class BrokenMethod(SlowMethod):
    """Fails with something that is nobody's business."""

    def score(self, support: np.ndarray, head: int, tails: np.ndarray) -> np.ndarray:
        raise RuntimeError("a secret")


def test_a_fault_of_the_server_is_told_to_its_log_and_not_to_the_assistant(caplog):
    result = call(predictor_of("broken", BrokenMethod()), "predict", QUESTION)
    assert error_of(result) == "something is wrong with the server; its log says what"
    assert "a secret" in caplog.text


def post(predictor: Predictor, token: str | None, **options) -> httpx.Response:
    """Send a request that lists the tools to the application over HTTP."""
    request: dict[str, Any] = {"method": "POST", "url": PATH, "json": TOOLS_LIST} | options
    request["headers"] = {"Accept": "application/json, text/event-stream"} | options.get("headers", {})

    async def send() -> httpx.Response:
        with closing(ToolServer(predictor, Limits(max_body=1000))) as server:
            app = server.http_app(token)
            async with app.router.lifespan_context(app):
                transport = httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8001") as client:
                    return await client.request(**request)

    return asyncio.run(send())


def test_over_http_the_tools_are_listed(predictor):
    response = post(predictor, None)
    assert response.status_code == 200
    assert len(response.json()["result"]["tools"]) == 5


def test_over_http_a_token_is_asked_for(predictor):
    assert post(predictor, "secret").status_code == 401
    assert post(predictor, "secret", headers={"Authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"headers": {"Host": "evil.example"}}, 421),
        ({"headers": {"Origin": "http://evil.example"}}, 403),
        ({"json": {"text": "a" * 2000}}, 413),
        ({"method": "GET"}, 405),
        ({"method": "DELETE"}, 405),
    ],
)
def test_over_http_strangers_large_requests_and_streams_are_refused(predictor, options, status):
    assert post(predictor, None, **options).status_code == status


def test_no_message_on_standard_input_is_larger_than_a_request_may_be(caplog):
    fits, large = b"{" + b"x" * 97 + b"}\n", b"{" + b"x" * 500 + b"}\n"
    reader = MessageReader(io.BytesIO(large + fits + b"last"), max_bytes=100)
    assert [reader.readline() for _ in range(4)] == ["too large\n", fits.decode(), "last", ""]
    assert "a message of more than 100 bytes is left out" in caplog.text
