"""A real process: the SDK's client starts it, speaks with it over standard input and output, and it ends well."""

import asyncio
import os
import subprocess
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("head,relation,tail\nBaku,lies in,Azerbaijan\nRiga,lies in,Latvia\n")
    return path


def test_an_assistant_starts_the_server_and_asks_it(graph, tmp_path):
    command = ["-m", "tripleshot", "-v", "mcp", str(graph), "--method", "evidence"]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    async def ask(errors) -> str:
        async with Client(stdio_client(server, errors)) as client:
            assert "predict" in [tool.name for tool in (await client.list_tools()).tools]
            question = {"examples": [{"head": "Riga", "tail": "Latvia"}], "heads": ["Baku"], "top": 1}
            result = await client.call_tool("predict", question)
            assert result.structured_content is not None
            return result.structured_content["results"][0]["answers"][0]["entity"]["name"]

    with (tmp_path / "stderr").open("w+") as errors:
        assert asyncio.run(ask(errors)) == "Azerbaijan"
        errors.seek(0)
        assert "Traceback" not in errors.read()


def test_standard_output_has_nothing_but_the_protocol_and_the_end_of_the_input_ends_it(graph):
    command = [sys.executable, "-m", "tripleshot", "-v", "mcp", str(graph), "--method", "evidence"]
    large = "x" * 3000
    found = subprocess.run(
        [*command, "--max-body=1000"], input=f"no protocol\n{large}\n", capture_output=True, text=True
    )
    assert found.returncode == 0
    assert found.stderr.count("a message of more than 1000 bytes is left out") == 1
    assert all(line.startswith('{"jsonrpc"') for line in found.stdout.splitlines())


def test_a_graph_that_is_not_there_is_one_line_on_standard_error(run, tmp_path):
    code, out, err = run("mcp", tmp_path / "none.tsv")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_missing_extra_is_named_in_one_line():
    script = "import sys; sys.modules['mcp'] = None; from tripleshot.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", script, "mcp", "x"], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr == "error: assistants need mcp: pip install 'tripleshot[mcp]'\n"
