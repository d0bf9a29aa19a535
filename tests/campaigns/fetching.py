"""The command that fetches a dataset, and a server on this machine that is slow enough for it to be interrupted."""

import atexit
import os
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from campaigns.children import command
from downloads import Page, Server, contents, sha256, tar, write
from tripleshot.datasets import catalog
from tripleshot.datasets.download import RemoteDataset
from tripleshot.datasets.nell_format import write_nell_layout
from tripleshot.datasets.splitting import make_dataset
from tripleshot.graph.readers import read_graph
from tripleshot.graph.types import types_from_names

NAME = "nell-one"
ARCHIVE, FOLDER = "/small.tar", "/small/"
BETWEEN_PIECES = 0.001  # seconds
MADE_HERE = catalog.CANDIDATES_FILE  # which the source does not have


@dataclass(frozen=True)
class Published:
    """A dataset that can be fetched: its files by name, and the address of the server that has them."""

    files: Mapping[str, bytes]
    address: str

    def fetching(self, folder: Path, source: str) -> Callable[[], None]:
        """Return the command that fetches it into the cache in a folder, from the archive or from single files."""

        def run() -> None:
            os.environ["TRIPLESHOT_HOME"] = str(folder / "home")
            hashes = {name: sha256(content) for name, content in self.files.items()}
            catalog.REMOTE[NAME] = RemoteDataset(NAME, (self.address + source,), hashes)
            command("data", "fetch", NAME)()

        return run

    def write_former(self, folder: Path) -> None:
        """Put a copy in place that is to be replaced: one of its files is another one."""
        write(folder / "home" / NAME, {**self.files, "path_graph": b"a\tr\tb\n"})

    def is_former_or_new(self, folder: Path) -> bool:
        """Tell whether what was there is there, or all of the new."""
        found = contents(folder / "home" / NAME)
        found.pop(MADE_HERE, None)
        return found in ({**self.files, "path_graph": b"a\tr\tb\n"}, self.files)


def describe_fetched(folder: Path) -> object:
    """Return what is in the cache; no half of a file may be left beside it."""
    home = folder / "home"
    return contents(home / NAME), sorted(path.name for path in home.iterdir() if path.suffix != ".lock")


@cache
def published(graph: Path) -> Published:
    """Make a dataset of a graph and publish it as long as this process lives."""
    read = read_graph(graph)
    with tempfile.TemporaryDirectory() as made:
        write_nell_layout(make_dataset(read.with_types(types_from_names(read)), name="small"), Path(made))
        files = contents(Path(made))
    del files[MADE_HERE]
    server = Server()
    pages = {ARCHIVE: tar(files), **{FOLDER + name: content for name, content in files.items()}}
    server.pages = {path: Page(content, pause=BETWEEN_PIECES) for path, content in pages.items()}
    _serve_aside(server)
    return Published(files, server.url(""))


def _serve_aside(server: Server) -> None:
    """Serve in a process of its own: children of the campaign are forked, and would inherit its threads' locks."""
    campaign = os.getpid()
    process = os.fork()
    if process == 0:

        def end_with_campaign() -> None:
            if os.getppid() != campaign:
                os._exit(0)

        server.service_actions = end_with_campaign
        server.serve_forever()
    server.socket.close()

    def end() -> None:
        if os.getpid() == campaign:
            os.kill(process, signal.SIGKILL)

    atexit.register(end)
