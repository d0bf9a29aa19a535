"""The command line: each command is a few lines that call the library."""

import sys
import warnings
from importlib.metadata import version

from cyclopts import App
from rich.console import Console

from tripleshot.cli.ask import ask_command
from tripleshot.cli.data import app as data_app
from tripleshot.cli.evaluate import evaluate_command, methods_command
from tripleshot.errors import InputWarning, TripleshotError

app = App(
    name="tripleshot",
    help="Few-shot knowledge graph completion: a graph, a new relation, K examples; ranked answers with reasons.\n\n"
    "Start with `tripleshot demo`. DATA is a dataset of the catalog (atlas, nell-one, wiki-one), a folder or a file "
    "of triples.",
    help_format="markdown",
    version=lambda: version("tripleshot"),
)
app.command("tripleshot.cli.demo:demo", name="demo", help="Train on a small graph and answer questions; start here.")
app.command(ask_command, name="ask")
app.command("tripleshot.cli.compare:compare_command", name="compare", help="Compare methods in equal time.")
app.command(data_app)
app.command(evaluate_command, name="evaluate")
app.command(methods_command, name="methods")
app.command("tripleshot.cli.paper:app", name="paper", help="Make the paper's tables and figures from our runs.")
app.command("tripleshot.server.command:serve_command", name="serve", help="Answer over HTTP, with a web page.")
app.command("tripleshot.cli.train:train_command", name="train", help="Train a method and keep the best weights.")
app.register_install_completion_command()


def main() -> None:
    """Run the command line: warnings and the user's own mistakes are one line each, never a stack trace."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def show(message: Warning | str, category: type[Warning], *rest: object, **more: object) -> None:
        errors.print("[yellow]warning:[/yellow]", end=" ")
        errors.print(str(message), markup=False)

    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        warnings.showwarning = show
        try:
            app(sys.argv[1:])
        except TripleshotError as error:
            errors.print("[red]error:[/red]", end=" ")
            errors.print(str(error), markup=False)
            sys.exit(1)
