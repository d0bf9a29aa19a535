"""Pages of a source that is read over the network, kept on disk: what has arrived is not asked for again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tripleshot.errors import InputError
from tripleshot.files.atomic import new_file, write_file
from tripleshot.files.checksums import read_document, seal_document

SOURCE = "source.json"


class PageFiles:
    """A folder of pages that belong to one source and one question; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, source: Mapping[str, Any]) -> None:
        """Open a folder, or make it.

        Args:
            folder: which is not there yet, or holds pages of the same source; None keeps nothing.
            source: what decides the pages; no secrets, for it is written down.

        Raises:
            InputError: the folder is of another source, or of something else.
        """
        self.folder = folder
        self.num_fetched = 0
        self.num_kept = 0
        if folder is None:
            return
        document = seal_document(source)
        try:
            if read_document(folder / SOURCE) != {name: document[name] for name in source}:
                raise InputError(f"{folder}: has pages of another source or query; remove it, or choose another folder")
        except FileNotFoundError:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise InputError(f"{folder}: expected pages of an earlier import, found something else") from None
            write_file(folder / SOURCE, json.dumps(document, indent=1).encode())

    def page(self, part: int, number: int, fetch: Callable[[], pa.Table]) -> pa.Table:
        """Return a page, and keep it if it has to be fetched; one that cannot be read is fetched again.

        Args:
            part: which of the questions that make up the source, from 0 on.
            number: of the page among those of the part, from 0 on.
            fetch: asks for it.
        """
        path = None if self.folder is None else self.folder / f"{part:06}-{number:06}.parquet"
        if path is not None and path.exists():
            try:
                table = pq.read_table(path, partitioning=None, page_checksum_verification=True)
                self.num_kept += 1
                return table
            except (OSError, pa.ArrowException):
                pass
        table = fetch()
        self.num_fetched += 1
        if path is not None:
            with new_file(path) as temporary:
                pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
        return table
