"""The pages of the documentation: their blocks, and a reader who follows them from top to bottom."""

import asyncio
import doctest
import io
import json
import os
import re
import shlex
import socket
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from tripleshot.cli import app, main

ROOT = Path(__file__).parents[1]
SINGLE = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "results" / "README.md")
PAGES = (*SINGLE, *sorted((ROOT / "docs").rglob("*.md")))
FENCE = "```"
MCP_SERVERS = "mcpServers"  # what assistants call the part of their configuration that lists what they start
BLOCK = re.compile(rf'^{FENCE}(\w*)(?: title="([^"]+)")?\n(.*?)^{FENCE}$', re.MULTILINE | re.DOTALL)
NUMBERS = re.compile(r"[█░]+|[━─]+|[-−+]?\d+\.\d+|\d+%")  # bars, lines, scores and shares follow the weights
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def name_of(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A block of code between two fences.

    Attributes:
        kind: what stands behind the first fence.
        text: between them.
        title: the name of the file that a reader is told to save it as; empty for what is to be run.
    """

    kind: str
    text: str
    title: str = ""


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page; a fence that belongs to none is an error."""
    text = page.read_text(encoding="utf-8")
    found = [Block(kind, content, title) for kind, title, content in BLOCK.findall(text)]
    assert text.count(FENCE) == 2 * len(found), f"{page.name}: a fence is indented, or not closed"
    return found


def prose_of(page: Path) -> str:
    """Return the text of a page without its blocks."""
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def commands_of(text: str) -> list[list[str]]:
    """Return the words of each command; a command goes on after a backslash and within quotes."""
    found, begun = [], ""
    for line in text.replace("\\\n", " ").splitlines():
        begun += f"{line}\n"
        try:
            words = shlex.split(begun, comments=True)
        except ValueError:  # a quotation goes on in the next line
            continue
        begun = ""
        found += [words] if words else []
    assert not begun, f"a quotation does not end: {begun}"
    return found


def flags_of(*command: str) -> set[str]:
    """Return every flag of a command, also those that all commands have."""
    found = app
    for word in command:
        found = found[word]
    arguments = (*found.assemble_argument_collection(), *app.meta.assemble_argument_collection())
    return {name for argument in arguments for name in (*argument.names, *argument.negatives)}


@dataclass(frozen=True)
class Running:
    """A server that a page has started."""

    server: uvicorn.Server
    thread: threading.Thread
    port: int


@dataclass
class Reader:
    """Someone who follows a page in the present folder.

    Attributes:
        shorten_command: makes a command of tripleshot short.
        shorten_code: makes Python code short.
        namespace: of all Python blocks.
        output: what the last block has printed.
        servers: that the page has started.
        num_followed: blocks.
    """

    shorten_command: Callable[[list[str]], list[str]]
    shorten_code: Callable[[str], str]
    namespace: dict[str, object] = field(default_factory=lambda: {"__name__": "page"})
    output: str = ""
    servers: list[Running] = field(default_factory=list)
    num_followed: int = 0

    def follow(self, page: Path) -> None:
        """Run every block, and compare what it prints with what the page shows of it."""
        kinds = {
            "python": self.run_python,
            "sh": self.run_commands,
            "text": self.compare,
            "output": self.compare_words,
            "json": self.compare_json,
            "toml": tomllib.loads,
            "math": check_equation,
        }
        for block in blocks_of(page):
            if block.title:
                Path(block.title).write_text(block.text, encoding="utf-8")
                self.num_followed += 1
                continue
            assert block.kind in kinds, f"{page.name}: a block of the unknown kind {block.kind!r}: {block.text[:80]}"
            kinds[block.kind](block.text)
            self.num_followed += 1

    def run_python(self, text: str) -> None:
        """Run code in the page's namespace."""
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(self.shorten_code(text), "page", "exec"), self.namespace)
        self.output = printed.getvalue()

    def run_commands(self, text: str) -> None:
        """Run the commands of a block, one after the other."""
        programs = {
            "tripleshot": self.run_tripleshot,
            "curl": self.request,
            "make": check_make,
            "pip": check_pip,
            "python": check_script,
            "python3": check_environment,
            ".": check_environment,
            "torchrun": check_torchrun,
            "podman": check_container,
            "ray": check_ray,
        }
        printed = ""
        for program, *words in commands_of(text):
            assert program in programs, f"an unknown program: {program} {shlex.join(words)}"
            self.output = ""
            programs[program](words)
            printed += self.output
        self.output = printed

    def run_tripleshot(self, words: list[str]) -> None:
        """Run a command of tripleshot in this process; one that fails is an error.

        A cluster and Wikidata are not asked, and nobody speaks with a server on standard input.
        """
        if "--cluster" in words or words[0] == "mcp" or any(word.startswith("wikidata:") for word in words):
            app.parse_args(words, print_error=False, exit_on_error=False)
            return
        before, sys.argv = sys.argv, ["tripleshot", *map(os.path.expanduser, self.shorten_command(words))]
        printed, complaints, code = io.StringIO(), io.StringIO(), None
        try:
            with redirect_stdout(printed), redirect_stderr(complaints):
                main()
        except SystemExit as stop:
            code = stop.code
        command, sys.argv, self.output = sys.argv, before, printed.getvalue()
        assert not code, f"{shlex.join(command)}\n{self.output}\n{complaints.getvalue()}"

    def run_server(self, server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        """Run a server beside the page until it has been read, in place of `uvicorn.Server.run`."""
        kept = [opened.dup() for opened in sockets]  # the command closes its own when it returns
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(kept)))
        thread.start()
        self.servers.append(Running(server, thread, sockets[0].getsockname()[1]))
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)

    def request(self, words: list[str]) -> None:
        """Send what `curl -s ADDRESS` sends, with `--json TEXT` or `-H HEADER`, to the server of the page."""
        silent, address, *rest = words
        options = dict(zip(rest[::2], rest[1::2], strict=True))
        assert silent == "-s"
        assert options.keys() <= {"--json", "-H"}
        port, body = self.servers[-1].port, options.get("--json")
        url = f"http://{address.replace('localhost:8000', f'127.0.0.1:{port}')}"
        headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
        if "-H" in options:
            name, _, value = options["-H"].partition(": ")
            headers[name] = value
        request = urllib.request.Request(url, None if body is None else body.encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read().decode()
            is_json = answer.headers.get_content_type() == "application/json"
        self.output = json.dumps(json.loads(text), ensure_ascii=False) if is_json else text

    def stop(self) -> None:
        """Stop the servers."""
        for running in self.servers:
            running.server.should_exit = True
            running.thread.join()

    def compare(self, shown: str) -> None:
        """Compare what the block before has printed with what the page shows; three dots stand for anything."""
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        is_equal = doctest.OutputChecker().check_output(shown, self.output, options)
        assert is_equal, f"shown:\n{shown}\nprinted:\n{self.output}"

    def compare_words(self, shown: str) -> None:
        """Compare an output that is shown whole: decimals, percentages and what is drawn from them may differ."""
        words, printed = (NUMBERS.sub("#", text).split() for text in (shown, self.output))
        assert words == printed, f"shown:\n{shown}\nprinted:\n{self.output}"

    def compare_json(self, shown: str) -> None:
        """Compare JSON, in which blanks mean nothing; what an assistant is told is no output, but starts a command."""
        if MCP_SERVERS in shown:
            return check_assistant(shown)
        self.output = "".join(self.output.split())
        return self.compare("".join(shown.split()))


def check_equation(text: str) -> None:
    """Require that the braces of an equation match."""
    assert text.count("{") == text.count("}"), text
    assert text.count("\\left") == text.count("\\right"), text


def check_make(words: list[str]) -> None:
    """Require that the Makefile has these targets."""
    assert set(words) <= set(TARGETS), words


def check_pip(words: list[str]) -> None:
    """Require that the package has the extras that are installed, and the repository a list of packages."""
    install, *packages = words
    assert install == "install"
    if packages[0] == "--requirement":
        assert (ROOT / packages[1]).is_file(), words
        return
    for package in packages[packages[0] == "--no-deps" :]:
        name, _, extras = package.partition("[")
        assert name in (".", "tripleshot"), package
        assert {*filter(None, extras.rstrip("]").split(","))} <= EXTRAS.keys(), package


def check_environment(words: list[str]) -> None:
    """Require that a virtual environment is made or used, and nothing else."""
    assert words in (["-m", "venv", "environment"], ["environment/bin/activate"]), words


def check_script(words: list[str]) -> None:
    """Require that a script is there."""
    assert (ROOT / words[0]).is_file(), words


def check_ray(words: list[str]) -> None:
    """Require that a machine starts a cluster or joins one; Ray need not be installed."""
    assert words[:2] in (["start", "--head"], ["start", "--address"]), words


def check_torchrun(words: list[str]) -> None:
    """Require that what torchrun starts is a command of tripleshot with arguments that it has."""
    module = words.index("-m")
    assert words[module + 1] == "tripleshot"
    app.parse_args(words[module + 2 :], print_error=False, exit_on_error=False)


def check_assistant(text: str) -> None:
    """Require that what an assistant is told to start, or where to ask, is a command of tripleshot or its address."""
    for server in json.loads(text)[MCP_SERVERS].values():
        if "command" in server:
            assert server["command"] == "tripleshot"
            app.parse_args(server["args"], print_error=False, exit_on_error=False)
        else:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", server["url"])


def check_container(words: list[str]) -> None:
    """Require that what a container is told is a command of tripleshot: that of the container file, and the rest."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    (command,) = map(json.loads, re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE))
    if words[0] == "run":
        given = words[words.index("tripleshot") + 1 :]
        app.parse_args([*command[1:], *given], print_error=False, exit_on_error=False)
    else:
        assert words[0] == "kill", words
