import json

import pytest
from rich.table import Table

from tripleshot.cli import app
from tripleshot.cli.messages import show, terminal_logging
from tripleshot.cli.terminal import open_console, printable

HOSTILE = "Ba\x1b[2Jku\x9b1A\u202e"  # clears the screen, moves up a line, turns the direction
ESCAPED = "Ba\\u001b[2Jku\\u009b1A\\u202e"


def test_what_a_terminal_would_obey_or_hide_is_escaped():
    assert printable(HOSTILE) == ESCAPED
    assert printable("a\r\n\tb\u2066\U000e0041") == "a\\r\n\tb\\u2066\\udb40\\udc41"
    assert json.loads(printable(json.dumps(HOSTILE + "\U000e0041", ensure_ascii=False))) == HOSTILE + "\U000e0041"


@pytest.mark.parametrize("text", ["Bakı → Баку", "می\u200cخواهم", "10\u202f000\u00a0€", "東京\u3000都"])
def test_text_of_any_language_stays(text):
    assert printable(text) == text


def test_whatever_is_printed_is_escaped_with_its_styles_kept(capsys):
    table = Table("name")
    table.add_row(f"[bold]{HOSTILE}")
    open_console().print(table)
    open_console(stderr=True).print(HOSTILE, markup=False)
    show(40, HOSTILE)
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert ESCAPED in printed.out
    assert printed.err == f"{ESCAPED}\nerror: {ESCAPED}\n"


@pytest.fixture
def hostile_graph(tmp_path):
    """A graph whose entities and relations have hostile names, one of them like markup of rich."""
    relations = ("[/red]", *(f"r{number}{HOSTILE}" for number in range(8)))
    steps = dict(enumerate([*relations, *["plain"] * 10], start=1))  # what is plain has too many triples for a task
    rows = {(f"{HOSTILE}{i}", steps[step], f"t{i * step % 67}{HOSTILE}") for step in steps for i in range(60)}
    path = tmp_path / "graph.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in sorted(rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["data", "stats"],
        ["data", "check"],
        ["ask", "--relation", "[/red]", "--head", f"{HOSTILE}1", "--explain"],
        ["ask", "--relation", "[/red]", "--head", f"{HOSTILE}1", "--json"],
        ["evaluate", "--method", "evidence", "--split", "test", "--shots", "1"],
    ],
)
def test_no_command_prints_what_a_terminal_obeys(hostile_graph, command, capsys):
    words = [*command, str(hostile_graph)] if command[0] != "ask" else ["ask", str(hostile_graph), *command[1:]]
    with terminal_logging(), pytest.raises(SystemExit, match="0"):
        app(words, exit_on_error=False)
    printed = capsys.readouterr()
    assert printed.out
    assert not {"\x1b", "\x9b", "\u202e"} & set(printed.out + printed.err)
