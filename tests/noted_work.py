"""Work on a Ray cluster of two nodes, one of which begins a piece and never ends it: it is to be killed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripleshot.workers.work import Work

SECONDS = 60.0  # that one node waits for the other one


@dataclass(frozen=True)
class NotedWork:
    """Some other work.

    Attributes:
        work: to be done.
        folder: has a note for each piece that is begun.
        doomed: the node that never ends a piece.
    """

    work: Work
    folder: str
    doomed: str

    def open(self) -> Callable[[Any], Any]:
        """Return what notes and does a piece; the other node waits until the doomed one has begun one, too."""
        import ray

        do, node = self.work.open(), ray.get_runtime_context().get_node_id()
        notes, doomed = Path(self.folder) / node, Path(self.folder) / self.doomed

        def do_noted(piece: Any) -> Any:
            with notes.open("a", encoding="utf-8") as file:
                file.write(f"{piece}\n")
            end = time.monotonic() + SECONDS
            while (node == self.doomed or not doomed.exists()) and time.monotonic() < end:
                time.sleep(0.05)
            return do(piece)

        return do_noted


def begun_pieces(folder: Path) -> list[str]:
    """Return the pieces that were begun, one as often as it was."""
    return sorted(line for path in folder.iterdir() for line in path.read_text(encoding="utf-8").splitlines())
