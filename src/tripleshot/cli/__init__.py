"""The command line: each command is flags, a call into the library, and a table."""

import logging
import sys
from importlib.metadata import version
from typing import Annotated

from cyclopts import App, Group, Parameter

from tripleshot.cli.ask import ask_command
from tripleshot.cli.data import app as data_app
from tripleshot.cli.evaluate import evaluate_command, methods_command
from tripleshot.cli.messages import set_verbosity, show, terminal_logging
from tripleshot.cli.terminal import open_console
from tripleshot.errors import TripleshotError

app = App(
    name="tripleshot",
    help="Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons.\n\n"
    "Start with `tripleshot demo`. DATA is a dataset of the catalog (atlas, nell-one, wiki-one), a folder or a file "
    "of triples.",
    help_format="markdown",
    version=lambda: version("tripleshot"),
    error_console=open_console(stderr=True),
)
app.command(
    "tripleshot.cli.demo:demo", name="demo", help="Answer questions on a small graph, with reasons; start here."
)
app.command(ask_command, name="ask")
app.command("tripleshot.cli.compare:compare_command", name="compare", help="Compare methods in equal time.")
app.command(
    "tripleshot.cli.complete:complete_command", name="complete", help="Propose triples that a graph does not have."
)
app.command(data_app)
app.command(evaluate_command, name="evaluate")
app.command("tripleshot.cli.complete:export_command", name="export", help="Write proposals as RDF, Cypher or a table.")
app.command(methods_command, name="methods")
app.command("tripleshot.server.mcp_command:mcp_command", name="mcp", help="Let an assistant ask, over MCP.")
app.command("tripleshot.cli.paper:app", name="paper", help="Make the paper's tables and figures from our runs.")
app.command("tripleshot.server.command:serve_command", name="serve", help="Answer over HTTP, with a web page.")
app.command("tripleshot.cli.train:train_command", name="train", help="Train a method and keep the best weights.")
app.register_install_completion_command()
EVERYWHERE = Group("Every command", sort_key=100)


@app.meta.default
def launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    quiet: Annotated[bool, Parameter(alias="-q", negative=(), group=EVERYWHERE, show_default=False)] = False,
    verbose: Annotated[int, Parameter(alias="-v", count=True, group=EVERYWHERE, show_default=False)] = 0,
) -> None:
    """Run a command.

    Parameters
    ----------
    quiet
        Show results and errors alone: no progress, no warnings, no hints.
    verbose
        Say what happens; given twice, every detail.
    """
    set_verbosity(-1 if quiet else verbose)
    app(words)


def main() -> None:
    """Run the command line: warnings and the user's own mistakes are one line each, never a stack trace."""
    with terminal_logging():
        try:
            app.meta(sys.argv[1:])
        except TripleshotError as error:
            show(logging.ERROR, str(error))
            sys.exit(1)
        except ImportError as error:
            if getattr(error.__cause__, "name", None) != "torch":
                raise
            show(logging.ERROR, "this command needs PyTorch, which is not installed: pip install torch")
            sys.exit(1)
