import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from downloads import Server


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "data" / "tiny"
